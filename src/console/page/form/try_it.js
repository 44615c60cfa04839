// Calls a tool and shows its progress, log messages, elicitations and result.

import { html, useEffect, useRef, useState } from '../preact.js';
import { follow, post } from '../api.js';
import { bytes, milliseconds } from '../format.js';
import { CAPABILITIES, live } from '../live.js';
import { Badge, CopyButton, Problem } from '../parts.js';
import { Text } from '../text.js';
import { ToolResult } from '../value.js';
import { stringify } from '../json.js';
import { SchemaForm } from './form.js';
import { namedField } from './state.js';

const MAX_LOGS = 20;
const IDLE = { phase: 'idle', progress: null, logs: [], elicitations: [], errors: [] };

export function TryIt({ tool, schema }) {
  const [call, setCall] = useState(IDLE);
  const running = useRef(null);
  const change = (part) => setCall((now) => ({ ...now, ...(typeof part === 'function' ? part(now) : part) }));
  // Leaving the page of a tool cancels its call.
  useEffect(() => () => running.current?.abort(), []);

  const start = async (json) => {
    const abort = new AbortController();
    running.current = abort;
    const began = performance.now();
    setCall({ ...IDLE, phase: 'running' });
    const done = (end) => change({ phase: 'done', elicitations: [], ms: performance.now() - began, ...end });
    const user = live.user ? `,"user":{"sub":${JSON.stringify(live.user)}}` : '';
    const body = `{"kind":"tool","key":${JSON.stringify(tool)},"params":{"arguments":${json}},"capabilities":${CAPABILITIES}${user}}`;
    let hasEnded = false;
    const onEvent = (event, size) => {
      if (event.progress) change({ progress: event.progress });
      else if (event.log) change((now) => ({ logs: [...now.logs, event.log].slice(-MAX_LOGS) }));
      else if (event.elicitation) change((now) => ({ elicitations: [...now.elicitations, event.elicitation] }));
      else {
        hasEnded = true;
        done({ result: event.result, size, failure: event.error, errors: errorsIn(event.result) });
      }
    };
    try {
      await follow('call', { body, signal: abort.signal, onEvent });
      if (!hasEnded) done({ failure: { message: 'The call ended without a result' } });
    } catch (error) {
      done({ failure: abort.signal.aborted ? { message: 'The call was cancelled' } : error });
    }
  };

  const isRunning = call.phase === 'running';
  return html`<section class="try" aria-label="Try it">
    <h3>Try it${live.user && html` <span class="type">as user <${Text} value=${live.user} /></span>`}</h3>
    <${SchemaForm} schema=${schema} onSubmit=${start} errors=${call.errors} prefix="argument">
      <button type="submit" class="primary" disabled=${isRunning}>Call</button>
      ${isRunning && html`<button type="button" onClick=${() => running.current.abort()}>Cancel call</button>`}
    <//>
    ${isRunning && html`<${Progress} progress=${call.progress} />`}
    ${
      call.logs.length > 0 &&
      html`<ul class="logs">${call.logs.map(
        (log, at) => html`<li key=${at}><${Badge} word=${String(log.level ?? 'log')} />
      <${Text} value=${typeof log.data === 'string' ? log.data : stringify(log.data)} limit=${1000} /></li>`,
      )}</ul>`
    }
    ${call.elicitations.map(
      (elicitation) => html`<${Elicitation} key=${elicitation.id} elicitation=${elicitation}
      onAnswered=${() => change((now) => ({ elicitations: now.elicitations.filter((one) => one.id !== elicitation.id) }))} />`,
    )}
    ${
      call.phase === 'done' &&
      html`<section class="result" role="region" aria-label="Result">
      <h3>Result <${Badge} word=${call.failure || call.result?.isError ? 'error' : 'ok'} />
        <span class="type">${milliseconds(call.ms)}${call.size ? `, ${bytes(call.size)}` : ''}</span></h3>
      ${call.failure ? html`<${Problem} error=${call.failure} />` : html`<${ToolResult} result=${call.result} />`}
    </section>`
    }
  </section>`;
}

/** What an error result says about a field. */
function errorsIn(result) {
  const message = result?.isError ? result.content?.[0]?.text : undefined;
  if (typeof message !== 'string' || !message.startsWith('invalid arguments for ')) return [];
  return [namedField(message)];
}

function Progress({ progress }) {
  const total = Number(progress?.total);
  const now = Number(progress?.progress);
  const isKnown = progress && total > 0;
  return html`<div class="progress">
    <progress aria-label="Progress of the call" value=${isKnown ? now : undefined} max=${isKnown ? total : undefined} />
    <span role="status">${progress ? `${now}${isKnown ? ` of ${total}` : ''}` : 'Running'}</span>
    ${progress?.message && html`<${Text} value=${progress.message} limit=${500} />`}
  </div>`;
}

/** An elicitation from the server or the script, answered in place. */
function Elicitation({ elicitation, onAnswered }) {
  const [problem, setProblem] = useState(null);
  const heading = useRef(null);
  const { params } = elicitation;
  useEffect(() => heading.current?.focus(), []);
  const answer = (body) => post(`elicitations/${elicitation.id}`, body).then(onAnswered, setProblem);
  const others = html`<button type="button" onClick=${() => answer('{"action":"decline"}')}>Decline</button>
    <button type="button" onClick=${() => answer('{"action":"cancel"}')}>Cancel</button>`;
  return html`<section class="elicitation" role="group" aria-label="Elicitation">
    <h3 ref=${heading} tabindex="-1">Elicitation</h3>
    <p><${Text} value=${params.message} limit=${5000} /></p>
    ${problem && html`<${Problem} error=${problem} />`}
    ${
      params.mode === 'url'
        ? html`<p>Open this address, if you trust it:</p><p class="address"><${Text} value=${params.url} /></p>
          <div class="buttons"><button type="button" class="primary" onClick=${() => answer('{"action":"accept"}')}>Accept</button>
          <${CopyButton} text=${() => String(params.url)}>Copy address<//>${others}</div>`
        : html`<${SchemaForm} schema=${params.requestedSchema ?? { type: 'object', properties: {} }} prefix="answer-${elicitation.id}"
          onSubmit=${(json) => answer(`{"action":"accept","content":${json}}`)}>
          <button type="submit" class="primary">Accept</button>${others}
        <//>`
    }
  </section>`;
}
