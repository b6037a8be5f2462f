// The cluster down to its GPUs, and one node with its links.
import {ask} from './api.js';
import {cards, facts, h, indices, table, when} from './dom.js';
import {nodeDrawing} from './drawings.js';

const kMostTiles = 2000;  // more are slow to draw, and nobody looks at each
const kMostWithGpus = 500;

const isOut = (state) => /DOWN|DRAIN|FAIL|UNKNOWN|\*/.test(state);

function gpuSquares(count, used, offline) {
  const classOf = (i) => (used.has(i) ? 'gpu used' : offline.has(i) ? 'gpu off' : 'gpu');
  return h('span', {class: 'gpus', 'aria-hidden': 'true'},
    Array.from({length: count}, (_, i) => h('span', {class: classOf(i)})));
}

function tile([name, state, gpus, used, offline], states, hasGpus) {
  const inUse = new Set(indices(used));
  const words = `${name}: ${states[state]}, ${inUse.size} of ${gpus} GPUs in use`;
  return h('li', {}, h('a', {class: isOut(states[state]) ? 'node out' : 'node', href: `#/nodes/${encodeURIComponent(name)}`,
    'aria-label': words, title: words}, name, hasGpus ? gpuSquares(gpus, inUse, new Set(indices(offline))) : ` ${inUse.size}/${gpus}`));
}

function legend() {
  const row = (kind, text) => h('li', {}, h('span', {class: `gpu ${kind}`, 'aria-hidden': 'true'}), text);
  return h('ul', {class: 'legend', 'aria-label': 'What the squares mean'},
    row('', 'free GPU'), row('used', 'GPU in use'), row('off', 'GPU taken offline'));
}

export async function clusterView() {
  const c = await ask('cluster');
  const byState = new Map();
  for (const node of c.nodes) byState.set(c.states[node[1]], (byState.get(c.states[node[1]]) ?? 0) + 1);
  const shown = c.nodes.slice(0, kMostTiles);
  return ['Cluster',
    cards([['GPUs in use', `${c.gpus.in_use} of ${c.gpus.total}`], ['GPUs free', c.gpus.free], ['GPUs out of use', c.gpus.offline],
      ['jobs that run', c.jobs.running], ['jobs that wait', c.jobs.pending]]),
    h('h2', {}, 'Nodes'),
    h('p', {}, [...byState].map(([state, count]) => `${count} ${state}`).join(', ')),
    legend(),
    h('ul', {class: 'map'}, shown.map((node) => tile(node, c.states, c.nodes.length <= kMostWithGpus))),
    c.nodes.length > shown.length ? h('p', {class: 'dim'}, `${c.nodes.length - shown.length} more are not drawn.`) : null,
  ];
}

/// A row for each GPU: what it is linked with, where it lies, whose it is.
function gpuTable(node) {
  const t = node.topology;
  const linked = (i) => t.links.filter(([a, b]) => a === i || b === i).map(([a, b]) => (a === i ? b : a)).sort((x, y) => x - y);
  const nics = (i) => t.nics.filter((nic) => t.gpus[i] && nic.pcie_switch === t.gpus[i].pcie_switch).map((nic) => nic.name);
  return table(`GPUs of ${node.name}`, [
    {name: 'GPU', of: (g) => String(g.index)},
    {name: 'State', of: (g) => (g.state === 'in_use' ? 'in use' : g.state)},
    {name: 'Job', of: (g) => (g.job_id ? h('a', {href: `#/jobs/${g.job_id}`}, String(g.job_id)) : '')},
    {name: 'Kind', of: (g) => g.model || g.type || ''},
    {name: 'Socket', of: (g) => String(t.gpus[g.index]?.socket ?? '')},
    {name: 'PCIe switch', of: (g) => String(t.gpus[g.index]?.pcie_switch ?? '')},
    {name: 'Network cards beside it', of: (g) => nics(g.index).join(', ')},
    {name: t.link_name || 'Links', of: (g) => linked(g.index).join(', ')},
  ], node.gpus);
}

export async function nodeView(name) {
  const [node] = (await ask(`nodes/${encodeURIComponent(name)}`)).nodes;
  return [`Node ${node.name}`,
    facts([['State', h('span', {class: 'state'}, [node.state].flat().join('+'))], ['Reason', node.reason],
      ['Since', node.reason ? when(node.reason_changed_at) : ''], ['Warning', node.warning], ['Machine', node.topology.product],
      ['Partitions', node.partitions.join(', ')], ['CPUs', `${node.alloc_cpus} of ${node.cpus} in use`],
      ['Memory', `${node.alloc_memory} of ${node.real_memory} MiB in use`],
      ['Jobs', h('span', {}, node.jobs.flatMap((id) => [h('a', {href: `#/jobs/${id}`}, String(id)), ' ']))]]),
    h('h2', {}, 'GPUs'),
    nodeDrawing(node),
    node.gpus.length ? gpuTable(node) : h('p', {}, 'It has none.'),
  ];
}
