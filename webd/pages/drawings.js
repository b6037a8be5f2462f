// Drawings beside the tables: the life of a job on a line, the inside of a node, use day by day. Whatever a drawing shows
// is also said in words, for who does not see it.
import {h, span, when} from './dom.js';

/// An element of SVG; as h() of dom.js.
function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const kWidth = 800;
const kMostTicks = 200;

/// What the line shows, as [class, from, to, words] in seconds.
function partsOf(job, now) {
  const isWaiting = job.job_state[0] === 'PENDING';
  const isOver = job.end_time && !['RUNNING', 'SUSPENDED', 'COMPLETING', 'CONFIGURING', 'PENDING'].includes(job.job_state[0]);
  const start = isWaiting || !job.start_time ? null : job.start_time;
  const end = isOver ? job.end_time : now;
  const parts = [];
  const waited = (start ?? end) - job.submit_time;
  // Of a job that began several times the earlier runs lie in between.
  const hasRunBefore = (job.history ?? []).filter((event) => event.kind === 'placed').length > (isWaiting ? 0 : 1);
  if (hasRunBefore) parts.push(['before', job.submit_time, start ?? end, `ran and waited before for ${span(waited)}`]);
  else if (isWaiting || waited >= 1) parts.push(['waited', job.submit_time, start ?? end, `${isWaiting ? 'has waited' : 'waited'} for ${span(waited)}`]);
  if (start !== null) parts.push(['ran', start, end, `${isOver ? 'ran' : 'has run'} for ${span(end - start)}`]);
  if (start !== null && !isOver && job.end_time > now) parts.push(['ahead', now, job.end_time, `may run until ${when(job.end_time)}`]);
  const range = job.start_range ?? {};
  if (isWaiting && range.low) parts.push(['ahead', range.low, range.high || range.likely || range.low, `is foreseen to start between ${when(range.low)} and ${when(range.high) || 'later'}`]);
  else if (isWaiting && job.start_time > now) parts.push(['ahead', now, job.start_time, `is planned to start at ${when(job.start_time)}`]);
  return parts.map(([kind, from, to, words]) => [kind, from, Math.max(from, to), words]);
}

/// A job from its submission to its end, or what is foreseen of it.
/// `now`: by the clock of the cluster.
export function timeline(job, now) {
  const parts = partsOf(job, now);
  const first = job.submit_time;
  const last = Math.max(...parts.map(([, , to]) => to), first + 1);
  const x = (time) => (kWidth * Math.min(1, Math.max(0, (time - first) / (last - first)))).toFixed(1);
  const bars = parts.map(([kind, from, to, words]) =>
    s('rect', {class: kind, x: x(from), y: 8, width: Math.max(2, x(to) - x(from)), height: 22}, s('title', {}, words)));
  const ticks = (job.history ?? []).slice(-kMostTicks).map((event) =>
    s('path', {class: 'tick', d: `M${x(event.time_us / 1e6)} 4v30`}, s('title', {}, `${when(event.time_us / 1e6)} ${event.kind}`)));
  const words = `Submitted ${when(first)}; ${parts.map(([, , , text]) => text).join('; ')}.`;
  return h('figure', {class: 'timeline'},
    s('svg', {viewBox: `0 0 ${kWidth} 38`, preserveAspectRatio: 'none', role: 'img', 'aria-label': words}, bars, ticks),
    h('figcaption', {}, words));
}

/// GPUs with the same value, in their order: [[value, [index, ...]], ...].
function grouped(indices, valueOf) {
  const groups = new Map();
  for (const i of indices) groups.set(valueOf(i), [...(groups.get(valueOf(i)) ?? []), i]);
  return [...groups];
}

/// "each with each", or who with whom.
function linkWords(topology) {
  const count = topology.gpus.length;
  const name = topology.link_name || 'links';
  if (!topology.links.length) return 'No links between its GPUs are known.';
  if (topology.links.length === (count * (count - 1)) / 2) return `${name}: each GPU with each other.`;
  const peers = (i) => topology.links.filter(([a, b]) => a === i || b === i).map(([a, b]) => (a === i ? b : a)).sort((p, q) => p - q).join(',');
  return `${name}: ${grouped(topology.gpus.keys(), peers).filter(([set]) => set).map(([set, gpus]) => `${gpus.join(',')} with ${set}`).join('; ')}.`;
}

/// The inside of a node: sockets, in them PCIe switches, on these GPUs and network cards. `held`: those that are marked.
export function nodeDrawing(node, held = null) {
  const t = node.topology;
  if (!t || !t.gpus.length) return null;
  const marked = (i) => (held === null ? node.gpus[i]?.state === 'in_use' : held.has(i));
  const gpu = (i) => h('li', {class: `gpu-box ${node.gpus[i]?.state === 'offline' ? 'off' : marked(i) ? 'used' : ''}`,
    'aria-label': `GPU ${i}: ${held !== null && marked(i) ? 'of this job' : (node.gpus[i]?.state ?? '').replace('_', ' ')}`}, String(i));
  const onSwitch = (socket, pcie, gpus) => {
    const nics = t.nics.filter((nic) => nic.pcie_switch === pcie && t.gpus[gpus[0]].pcie_switch === pcie);
    return h('li', {class: 'switch'}, h('span', {class: 'dim'}, `switch ${pcie}`),
      h('ul', {}, gpus.map(gpu), nics.map((nic) => h('li', {class: 'nic-box'}, nic.name))));
  };
  const sockets = grouped(t.gpus.keys(), (i) => t.gpus[i].socket).map(([socket, gpus]) =>
    h('li', {class: 'socket'}, h('span', {class: 'dim'}, `socket ${socket}`),
      h('ul', {}, grouped(gpus, (i) => t.gpus[i].pcie_switch).map(([pcie, on]) => onSwitch(socket, pcie, on)))));
  return h('figure', {class: 'inside'}, h('figcaption', {}, h('b', {}, node.name), ` ${linkWords(t)}`),
    h('ul', {class: 'sockets', 'aria-label': `The inside of ${node.name}`}, sockets));
}

const kSeries = 6;

/// Bars of days, each of the QOS that used most; the others are one.
export function useDrawing(use, days) {
  const total = new Map();
  for (const one of use) total.set(one.qos, (total.get(one.qos) ?? 0) + one.gpu_hours);
  const names = [...total].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const series = names.slice(0, kSeries - 1);
  const wordOf = (kind) => (kind === kSeries - 1 ? 'all others' : series[kind] || '(no QOS)');
  const kindOf = (qos) => (series.includes(qos) ? series.indexOf(qos) : kSeries - 1);
  const perDay = days.map((day) => {
    const sums = Array(kSeries).fill(0);
    for (const one of use) if (one.day === day) sums[kindOf(one.qos)] += one.gpu_hours;
    return sums;
  });
  const most = Math.max(1e-9, ...perDay.map((sums) => sums.reduce((a, b) => a + b, 0)));
  const kHeight = 160;
  const step = kWidth / days.length;
  const bars = perDay.flatMap((sums, i) => {
    let below = 0;
    return sums.map((sum, kind) => {
      const height = (kHeight * sum) / most;
      below += height;
      return height > 0 ? s('rect', {class: `series${kind}`, x: (i * step + step * 0.1).toFixed(1), y: (kHeight - below).toFixed(1),
        width: (step * 0.8).toFixed(1), height: height.toFixed(1)}, s('title', {}, `${days[i]}, ${wordOf(kind)}: ${sum.toFixed(1)} GPU hours`)) : null;
    });
  });
  const kinds = [...series.keys(), ...(names.length > series.length ? [kSeries - 1] : [])];
  const legend = kinds.map((kind) => h('li', {}, h('span', {class: `swatch series${kind}`, 'aria-hidden': 'true'}), wordOf(kind)));
  return h('figure', {class: 'use'},
    h('figcaption', {}, `GPU hours a day, ${most.toFixed(1)} at most`), h('ul', {class: 'legend', 'aria-label': 'What the colours mean'}, legend),
    s('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': 'GPU hours of each day; the table below has them'}, bars),
    h('div', {class: 'ends', 'aria-hidden': 'true'}, h('span', {}, days[0]), h('span', {}, days[days.length - 1])));
}
