// Elements are made from text nodes alone: whatever users named their jobs is shown, and never read as HTML.

/// h('a', {href: '#/'}, 'text', child, ...): an element. Attributes that are null or false are left out.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/// columns: [{name, text or node of a row, isNumber}].
export function table(caption, columns, rows) {
  const cell = (column, row) =>
    h('td', {class: column.isNumber ? 'number' : null, 'data-label': column.name}, column.of(row) ?? '');
  return h('table', {},
    h('caption', {}, caption),
    h('thead', {}, h('tr', {}, columns.map((c) => h('th', {scope: 'col', class: c.isNumber ? 'number' : null}, c.name)))),
    h('tbody', {}, rows.map((row) => h('tr', {}, columns.map((c) => cell(c, row))))));
}

/// [[name, text or node], ...]; what is empty is left out.
export function facts(pairs) {
  return h('dl', {}, pairs.filter(([, value]) => value !== '' && value !== null && value !== undefined)
    .flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

export function cards(pairs) {
  return h('ul', {class: 'cards'}, pairs.map(([name, value]) => h('li', {}, h('b', {}, String(value)), name)));
}

/// Seconds since 1970 as a local time; 0 is "".
export function when(seconds) {
  if (!seconds) return '';
  const time = new Date(seconds * 1000);
  const two = (n) => String(n).padStart(2, '0');
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ` +
    `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/// Seconds as "2-03:04:05".
export function span(seconds) {
  const two = (n) => String(n).padStart(2, '0');
  const days = Math.floor(seconds / 86400);
  const text = `${two(Math.floor(seconds / 3600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(Math.floor(seconds) % 60)}`;
  return days ? `${days}-${text}` : text;
}

/// The numbers of "0-3,6".
export function indices(text) {
  return (text || '').split(',').filter(Boolean).flatMap((part) => {
    const [first, last] = part.split('-').map(Number);
    return Array.from({length: (last ?? first) - first + 1}, (_, i) => first + i);
  });
}
