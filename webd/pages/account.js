// Who is signed in, by a token; and a form to submit a job as.
import {ask, change, token} from './api.js';
import {h} from './dom.js';

/// {user, read_only, expires}; user is null where nobody is signed in, or the token is of no more use.
export async function me() {
  if (!token.get()) return {user: null, read_only: true};
  try {
    return await ask('me');
  } catch (error) {
    if (error.status === 401) token.forget();
    return {user: null, read_only: true};
  }
}

function notice() {
  return h('p', {id: 'notice', role: 'status'});
}

export async function signInView() {
  const who = await me();
  if (who.user) {
    const out = () => {
      token.forget();
      location.hash = '#/';
    };
    return ['Sign out', h('p', {}, `You are signed in as ${who.user}${who.read_only ? ', to read alone' : ''}.`),
      h('p', {}, h('button', {id: 'out', onclick: out}, 'Sign out'))];
  }
  const said = notice();
  const submit = async (event) => {
    event.preventDefault();
    token.set(new FormData(event.target).get('token').trim());
    try {
      await ask('me');
      location.hash = '#/';
    } catch (error) {
      token.forget();
      said.textContent = error.message;
    }
  };
  return ['Sign in',
    h('p', {}, 'A token lets this page act for you. Make one in a terminal on the cluster:'),
    h('pre', {}, 'gangway token make --name web'),
    h('form', {onsubmit: submit},
      h('p', {}, h('label', {for: 'token'}, 'Token'),
        h('input', {id: 'token', name: 'token', type: 'password', autocomplete: 'off', required: true, size: 40})),
      h('button', {id: 'in'}, 'Sign in')), said];
}

const kScript = '#!/bin/bash\n#GBATCH --nodes=1 --gpus-per-node=1 --time=1:00:00\n\nnvidia-smi\n';

export async function submitView() {
  const who = await me();
  if (!who.user || who.read_only)
    return ['Submit', h('p', {}, 'To submit jobs ', h('a', {href: '#/sign-in'}, 'sign in'), ' with a token that may change something.')];
  const said = notice();
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const options = form.get('options').trim();
    try {
      const done = await change('jobs', {script: form.get('script').replaceAll('\r\n', '\n'), chdir: form.get('chdir').trim(),
        options: options ? options.split(/\s+/) : []});
      location.hash = `#/jobs/${done.job_id}`;
    } catch (error) {
      said.textContent = error.message;
    }
  };
  return ['Submit', h('p', {class: 'dim'}, `The job runs as ${who.user}.`),
    h('form', {class: 'tall', onsubmit: submit, id: 'submit'},
      h('p', {}, h('label', {for: 'script'}, 'Script, with its #GBATCH or #SBATCH lines'),
        h('textarea', {id: 'script', name: 'script', rows: 12, cols: 80, spellcheck: 'false', required: true}, kScript)),
      h('p', {}, h('label', {for: 'chdir'}, 'Folder in which it runs'),
        h('input', {id: 'chdir', name: 'chdir', size: 40, required: true, placeholder: `/home/${who.user}`})),
      h('p', {}, h('label', {for: 'options'}, 'Further options'), h('input', {id: 'options', name: 'options', size: 40})),
      h('button', {id: 'send'}, 'Submit')), said];
}
