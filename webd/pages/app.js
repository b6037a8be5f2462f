// Which view is shown, and when it is drawn anew. A view is a function that gives its heading and its elements; while it is
// drawn anew the old one stays, and whoever has the focus keeps it.
import {h} from './dom.js';
import {ask, listen} from './api.js';
import {clusterView, nodeView} from './cluster.js';
import {jobsView, jobView} from './jobs.js';
import {quotasView} from './quotas.js';
import {useView} from './use.js';
import {me, signInView, submitView} from './account.js';

const kViews = [
  [/^#?\/?$/, 'Cluster', clusterView],
  [/^#\/nodes\/([^/?]+)$/, 'Cluster', nodeView],
  [/^#\/jobs(?:\?(.*))?$/, 'Jobs', jobsView],
  [/^#\/jobs\/(\d+)$/, 'Jobs', jobView],
  [/^#\/quotas$/, 'Quotas', quotasView],
  [/^#\/use(?:\/(\d+))?$/, 'Use', useView],
  [/^#\/submit$/, 'Submit', submitView],
  [/^#\/sign-in$/, 'Sign in', signInView],
];

const main = document.getElementById('main');
const live = document.getElementById('live');
let drawing = 0;
let drawingOf = null;  // the view that is being made; null: none is
let isOneMore = false;  // something has changed meanwhile
let lastTook = 0;

function mark(name) {
  for (const link of document.querySelectorAll('nav a'))
    (link.dataset.view ?? link.textContent) === name ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current');
}

/// The last link of the navigation says who is signed in.
async function showWho() {
  const who = await me();
  const name = document.getElementById('cluster');
  if (!name.textContent) ask('ping').then((reply) => { name.textContent = reply.pings[0].cluster; }, () => {});
  document.getElementById('who').textContent = who.user ? `Signed in as ${who.user}` : 'Sign in';
}

/// The element that had the focus, as far as it is there again.
function keepFocus(draw) {
  const focused = document.activeElement;
  const key = main.contains(focused) ? focused.id || focused.getAttribute('href') : null;
  draw();
  if (!key) return;
  const again = [...main.querySelectorAll('a,input,select,button')].find((e) => e.id === key || e.getAttribute('href') === key);
  if (again) again.focus({preventScroll: true});
}

/// Makes the view that the address names; the one that is there stays until it is made.
async function draw(isNew) {
  const began = Date.now();
  const number = ++drawing;
  const hash = location.hash || '#/';
  drawingOf = hash;
  isOneMore = false;
  const found = kViews.map(([pattern, name, view]) => [hash.match(pattern), name, view]).find(([match]) => match);
  let title = 'Not here';
  let parts = [h('p', {class: 'error'}, 'There is no such view.')];
  if (found) {
    mark(found[1]);
    try {
      [title, ...parts] = await found[2](found[0][1] === undefined ? '' : decodeURIComponent(found[0][1]));
    } catch (error) {
      title = found[1];
      parts = [h('p', {class: 'error', role: 'alert'}, error.message)];
    }
  }
  if (number !== drawing) return;  // another view was asked for meanwhile
  drawingOf = null;
  lastTook = Date.now() - began;
  document.title = `${title} - Gangway`;
  keepFocus(() => main.replaceChildren(h('h1', {}, title), ...parts.filter((part) => part !== null)));
  if (isNew) main.focus();
  live.dataset.drawn = String(number);
  if (isOneMore) drawSoon();
}

// Many pages hear of a change at one moment: they do not all ask at once. A view that takes long is made less often, and
// one that is being made is not begun anew.
let due = null;
function drawSoon() {
  if (isForm() || due !== null) return;
  if (drawingOf !== null) {
    isOneMore = true;
    return;
  }
  due = setTimeout(() => {
    due = null;
    if (drawingOf === null) draw(false);
    else isOneMore = true;
  }, Math.max(Math.random() * 500, 2 * lastTook));
}

// What no change tells of: how busy nodes are, and the time.
setInterval(() => { if (!document.hidden) drawSoon(); }, 60000);

// What somebody fills in is not drawn over.
const isForm = () => /^#\/(submit|sign-in)/.test(location.hash);

window.addEventListener('hashchange', () => { showWho(); draw(true); });
listen(drawSoon, (isLive) => { live.textContent = isLive ? 'live' : 'not connected; trying again'; });
window.addEventListener('signed-out', () => { showWho(); drawSoon(); });
showWho();
draw(false);
