// What was used day by day, of each QOS.
import {ask} from './api.js';
import {h, table} from './dom.js';
import {useDrawing} from './drawings.js';

const kDays = [['7', 'a week'], ['14', 'two weeks'], ['31', 'a month'], ['92', 'three months']];

export async function useView(text) {
  const chosen = kDays.some(([days]) => days === text) ? text : '14';
  const answer = await ask('use', {days: chosen});
  const links = kDays.map(([value, words]) => h('a', {href: `#/use/${value}`, 'aria-current': value === chosen ? 'true' : null}, words));
  if (!answer.use.length) return ['Use', h('p', {class: 'links'}, links), h('p', {}, 'Nothing was used in this time.')];
  const rows = [...answer.use].reverse();
  const number = (name, key) => ({name, isNumber: true, of: (u) => u[key].toFixed(1)});
  return ['Use', h('p', {class: 'links'}, links), useDrawing(answer.use, answer.days),
    table('Hours that were held, newest first', [
      {name: 'Day', of: (u) => u.day},
      {name: 'QOS', of: (u) => u.qos},
      {name: 'Jobs', isNumber: true, of: (u) => String(u.jobs)},
      number('GPU hours', 'gpu_hours'), number('of these idle', 'idle_gpu_hours'), number('CPU hours', 'cpu_hours'),
    ], rows),
    answer.hidden_jobs ? h('p', {class: 'dim'}, `${answer.hidden_jobs} jobs of others are in no sum.`) : null];
}
