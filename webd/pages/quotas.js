// The tree of QOS: who is guaranteed, holds, borrows and lends how much.
import {ask} from './api.js';
import {h, table} from './dom.js';

/// What a QOS has of `whole`: its own part, what it borrows, and a mark at what it is guaranteed.
function bar(line, whole) {
  if (!whole) return '';
  const percent = (n) => `${Math.min(100, (100 * n) / whole)}%`;
  const part = (kind, left, width) => {
    const element = h('span', {class: kind});
    element.style.left = percent(left);
    if (width !== null) element.style.width = percent(width);
    return element;
  };
  const own = line.held - line.borrowed;
  return h('div', {class: 'bar', 'aria-hidden': 'true'}, part('own', 0, own), part('borrowed', own, line.borrowed),
    line.guaranteed === null ? null : part('mark', line.guaranteed, null));
}

const amount = (n) => (n === null || n === undefined ? '' : String(n));

function resourceTable(resource, sides) {
  const isQuiet = (side) => side.is_own_jobs && side.running + side.waiting === 0;
  const rows = sides.filter((side) => side.resources[resource] && !isQuiet(side)).map((side) => ({side, line: side.resources[resource]}));
  const whole = Math.max(...rows.map(({line}) => Math.max(line.guaranteed ?? 0, line.held, line.demand)));
  const number = (name, key) => ({name, isNumber: true, of: ({line}) => amount(line[key])});
  return table(`${resource}: what is held, with what is borrowed hatched; the mark is the guarantee`, [
    {name: 'QOS', of: ({side}) => `${'\u2003'.repeat(side.depth)}${side.is_own_jobs ? '(its own jobs)' : side.name}`},
    {name: 'Held', of: ({line}) => bar(line, whole)},
    number('Guaranteed', 'guaranteed'), number('Due', 'fair_share'), number('In use', 'in_use'), number('Borrowed', 'borrowed'),
    number('Lent', 'lent'), number('Wanted', 'demand'), number('Limit', 'limit'),
    {name: 'Jobs run / wait', isNumber: true, of: ({side}) => `${side.running} / ${side.waiting}`},
  ], rows);
}

export async function quotasView() {
  const shares = await ask('shares');
  const resources = [...new Set(shares.sides.flatMap((side) => Object.keys(side.resources)))];
  const parts = resources.map((resource) => resourceTable(resource, shares.sides));
  const loans = shares.loans.length === 0 ? [] : [h('h2', {}, 'Who lends to whom'), table('Loans now', [
    {name: 'From', of: (loan) => loan.from},
    {name: 'To', of: (loan) => loan.to},
    {name: 'Resource', of: (loan) => loan.resource},
    {name: 'Amount', isNumber: true, of: (loan) => amount(loan.amount)},
  ], shares.loans)];
  return ['Quotas', h('p', {class: 'dim'}, `Reclaim: ${shares.reclaim}.`), ...parts.flatMap((part) => [part]), ...loans];
}
