// The queue with its reasons, and one job: why it waits, where it runs, what happened to it.
import {me} from './account.js';
import {ask, change} from './api.js';
import {facts, h, span, table, when} from './dom.js';
import {nodeDrawing, timeline} from './drawings.js';

const kFields = 'job_id,array_job_id,array_task_id,array_tasks,name,user_name,qos,partition,job_state,state_reason,state_description,' +
  'gpus,node_count,nodes,run_time,start_time,start_range,submit_time';
const kFilters = [['user', 'User'], ['partition', 'Partition'], ['qos', 'QOS'], ['name', 'Name']];
const kStates = [['', 'wait or run'], ['PENDING', 'wait'], ['RUNNING', 'run'], ['all', 'all, also ended']];
const kLimit = 500;
const kDrawnNodes = 4;

function numberOf(job) {
  if (job.array_tasks) return `${job.array_job_id}_[${job.array_tasks}]`;
  return job.array_task_id !== null && job.array_task_id !== undefined ? `${job.array_job_id}_${job.array_task_id}` : String(job.job_id);
}

function filterForm(chosen) {
  const field = ([name, label]) => h('p', {}, h('label', {for: name}, label),
    h('input', {id: name, name, value: chosen.get(name) ?? '', autocomplete: 'off', spellcheck: 'false'}));
  const submit = (event) => {
    event.preventDefault();
    const values = [...new FormData(event.target)].filter(([, value]) => value !== '');
    location.hash = `#/jobs?${new URLSearchParams(values)}`;
  };
  return h('form', {onsubmit: submit, role: 'search'},
    h('p', {}, h('label', {for: 'state'}, 'Jobs that'), h('select', {id: 'state', name: 'state'},
      kStates.map(([value, text]) => h('option', {value, selected: (chosen.get('state') ?? '') === value}, text)))),
    kFilters.map(field), h('button', {id: 'show'}, 'Show'));
}

const isWaiting = (job) => job.job_state[0] === 'PENDING';

function whereOrWhy(job) {
  if (job.nodes) return job.nodes;
  return job.state_description || (job.state_reason === 'None' ? '' : job.state_reason);
}

/// What the user is typing is not drawn over: the form that is there stays.
function formFor(chosen, text) {
  const there = document.querySelector('main form');
  if (there && there.dataset.of === text) return there;
  const form = filterForm(chosen);
  form.dataset.of = text;
  return form;
}

export async function jobsView(text) {
  const chosen = new URLSearchParams(text);
  const list = await ask('jobs', {...Object.fromEntries(chosen), fields: kFields, limit: kLimit});
  const shown = list.jobs.length;
  return ['Jobs', formFor(chosen, text),
    table(shown < list.total ? `${shown} of ${list.total} jobs` : `${shown} ${shown === 1 ? 'job' : 'jobs'}`, [
      {name: 'Job', of: (j) => h('a', {href: `#/jobs/${j.job_id}`}, numberOf(j))},
      {name: 'Name', of: (j) => j.name},
      {name: 'User', of: (j) => j.user_name},
      {name: 'QOS', of: (j) => j.qos},
      {name: 'Partition', of: (j) => j.partition},
      {name: 'State', of: (j) => h('span', {class: 'state'}, j.job_state[0])},
      {name: 'GPUs', isNumber: true, of: (j) => String(j.gpus)},
      {name: 'Time', isNumber: true, of: (j) => (isWaiting(j) ? '' : span(j.run_time))},
      {name: 'Nodes, or why it waits', of: whereOrWhy},
    ], list.jobs)];
}

/// GPUs of its first nodes, those that it holds marked. Where nodes are not to be seen the table is all.
async function insides(job) {
  if (!job.allocation.length || job.job_state[0] !== 'RUNNING') return [];
  const drawn = job.allocation.slice(0, kDrawnNodes).map(async (share) => {
    const [node] = (await ask(`nodes/${encodeURIComponent(share.node)}`)).nodes;
    return nodeDrawing(node, new Set([share.gpus].flat()));
  });
  return (await Promise.allSettled(drawn)).map((one) => one.value ?? null);
}

function placement(job, drawings) {
  if (!job.allocation.length) return [];
  return [h('h2', {}, 'Where it runs, or ran'), ...drawings,
    table('Nodes, and what it holds there', [
      {name: 'Node', of: (s) => h('a', {href: `#/nodes/${encodeURIComponent(s.node)}`}, s.node)},
      {name: 'Tasks', isNumber: true, of: (s) => String(s.tasks)},
      {name: 'GPUs', of: (s) => [s.gpus].flat().join(', ')},
      {name: 'Cores', of: (s) => [s.cores].flat().join(', ')},
      {name: 'Memory (MiB)', isNumber: true, of: (s) => String(s.memory_mb)},
    ], job.allocation)];
}

function history(job) {
  const events = job.history ?? [];
  if (!events.length) return [];
  return [h('h2', {}, 'What happened'),
    table('Oldest first', [
      {name: 'When', of: (e) => when(e.time_us / 1e6)},
      {name: 'What', of: (e) => e.kind},
      {name: 'Details', of: (e) => e.text},
    ], events)];
}

/// What who is signed in may try with the job; the server says whether he may.
function actions(job, who) {
  if (!who.user || who.read_only) return [];
  const isOver = !['PENDING', 'RUNNING', 'SUSPENDED', 'COMPLETING', 'CONFIGURING'].includes(job.job_state[0]);
  if (isOver) return [];
  const said = h('p', {id: 'notice', role: 'status'});
  const act = (verb) => async () => {
    try {
      await change(`jobs/${job.job_id}/${verb}`);
      said.textContent = `Done: ${verb}.`;
    } catch (error) {
      said.textContent = error.message;
    }
  };
  const button = (verb, text) => h('button', {id: verb, onclick: act(verb)}, text);
  return [h('div', {class: 'actions', role: 'group', 'aria-label': 'What to do with the job'}, button('cancel', 'Cancel'),
    ...(isWaiting(job) ? [button('hold', 'Hold'), button('release', 'Release')] : [button('requeue', 'Requeue')])), said];
}

export async function jobView(id) {
  const [shown, why, who] = await Promise.all([ask(`jobs/${id}`), ask(`jobs/${id}/why`), me()]);
  const job = shown.jobs[0];
  const drawings = await insides(job);
  return [`Job ${numberOf(job)}`,
    facts([['Name', job.name], ['State', h('span', {class: 'state'}, job.job_state.join('+'))], ['User', job.user_name],
      ['QOS', job.qos], ['Partition', job.partition], ['GPUs', String(job.gpus)], ['Nodes', job.nodes || String(job.node_count)],
      ['Submitted', when(job.submit_time)], [isWaiting(job) ? 'Planned start' : 'Started', when(job.start_time)],
      ['Ran for', job.run_time ? span(job.run_time) : '']]),
    timeline(job, shown.last_update || Date.now() / 1000),
    ...actions(job, who),
    h('h2', {}, isWaiting(job) ? 'Why it waits' : 'Why it is where it is'),
    h('pre', {id: 'why'}, why.text.trim()),
    ...placement(job, drawings), ...history(job)];
}
