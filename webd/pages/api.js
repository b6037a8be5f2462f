// The API of the server that the page came from, with the token of who has signed in. The token is kept for as long as
// the page is open, and never stands in an address.

const kKey = 'gangway-token';

export const token = {
  get: () => sessionStorage.getItem(kKey),
  set: (value) => sessionStorage.setItem(kKey, value),
  forget: () => sessionStorage.removeItem(kKey),
};

/// The server's words, and its status: 0 if it does not answer.
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers(more = {}) {
  const secret = token.get();
  return secret ? {...more, authorization: `Bearer ${secret}`} : more;
}

async function send(path, options) {
  let reply;
  try {
    reply = await fetch(`/api/v1/${path}`, {...options, headers: headers(options.headers)});
  } catch {
    throw new Refusal(0, 'The server does not answer. It may be restarting; this page tries again.');
  }
  const body = await reply.json().catch(() => ({error: {message: `The server answers ${reply.status}.`, hint: ''}}));
  if (reply.ok) return body;
  if (reply.status === 401 && token.get()) {  // it is of no more use: what is open to all can be read again
    token.forget();
    window.dispatchEvent(new Event('signed-out'));
  }
  throw new Refusal(reply.status, body.error.message + (body.error.hint ? ` (${body.error.hint})` : ''));
}

/// What a path of the API answers. Throws a Refusal.
export function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '' && value !== undefined));
  const text = query.toString();
  return send(text ? `${path}?${text}` : path, {});
}

/// Changes something. The name that it is given lets the server carry it out once, however often it is asked.
export function change(path, body = {}) {
  const name = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(16)).join('-');
  return send(path, {method: 'POST', body: JSON.stringify(body),
    headers: {'content-type': 'application/json', 'idempotency-key': name}});
}

/// The events of a stream as they come: [name, data].
async function* events(reader) {
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    text += decoder.decode(value, {stream: true});
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const field = (name) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      if (field('event')) yield [field('event'), field('data')];
    }
  }
}

/// Until the page can be seen. A browser opens six connections to a server at most: pages in the background hold none.
function seen() {
  return new Promise((resolve) => {
    if (!document.hidden) return resolve();
    document.addEventListener('visibilitychange', () => resolve(seen()), {once: true});
  });
}

/// Calls `changed` each time that something changes in the cluster while the page is seen, `state` with true while we
/// would hear of it. An EventSource could not show the token.
export async function listen(changed, state) {
  let version = null;
  for (;;) {
    await seen();
    const stop = new AbortController();
    const hide = () => { if (document.hidden) stop.abort(); };
    document.addEventListener('visibilitychange', hide);
    try {
      const reply = await fetch('/api/v1/stream', {headers: headers(), signal: stop.signal});
      if (!reply.ok) throw new Refusal(reply.status, '');
      state(true);
      for await (const [name, data] of events(reply.body.getReader())) {
        if (name !== 'version') continue;
        if (version !== null && data !== version) changed();
        version = data;
      }
    } catch { /* it is tried again */ }
    document.removeEventListener('visibilitychange', hide);
    state(false);
    version = '';  // whatever it is then, something may have changed
    if (!document.hidden) await new Promise((resolve) => { setTimeout(resolve, 3000 + 2000 * Math.random()); });
  }
}
