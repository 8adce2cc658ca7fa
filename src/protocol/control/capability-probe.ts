import { ServiceError } from '../../platform/errors.ts';
import type { ControlClient } from './control-client.ts';
import { type ControlApi, requestTopic, responseTopic } from './envelope.ts';

/** The control APIs that every broker is looked at for; bridges come on top, by their names. */
export const KNOWN_APIS = [
  'broker',
  'dynamic-security',
  'cedalo/inspect',
  'cedalo/client-control',
  'cedalo/topictree',
  'stream-processing',
  'certificate-management',
  'cedalo/ha',
  'cedalo/license',
] as const satisfies readonly ControlApi[];

/**
 * A command per API that changes nothing. Where an API has no such command one that does not exist is sent: to be told that
 * it is unknown is an answer too.
 */
const PROBES: Readonly<Record<string, readonly [command: string, fields: Readonly<Record<string, unknown>>]>> = {
  broker: ['listPlugins', {}],
  'dynamic-security': ['getDefaultACLAccess', {}],
  'cedalo/inspect': ['listClients', { verbose: false, count: 1, offset: 0 }],
  'cedalo/client-control': ['getCapabilities', {}],
  'cedalo/topictree': ['getTtl', {}],
  'stream-processing': ['listStreams', { verbose: false, count: 1, offset: 0 }],
  'certificate-management': ['getCapabilities', {}],
  'cedalo/ha': ['getCluster', {}],
  'cedalo/license': ['getLicenseInformation', {}],
};
const BRIDGE_PROBE = ['getStatus', {}] as const;

const REASONS: Readonly<Record<string, string>> = {
  broker: 'The broker does not describe itself: Mosquitto 2.1 does with `enable_control_api true`',
  'dynamic-security':
    'The broker has no dynamic security: load it with `plugin …/mosquitto_dynamic_security.so` and `plugin_opt_config_file`',
  'certificate-management':
    'The broker has no certificate management: Mosquitto reads certificates from the files that its configuration names, and again at SIGHUP; brokers that this service runs, and those with the commercial plugin, take them from here',
  'cedalo/ha': 'The broker has no cluster plugin',
};

export interface ProbeResult {
  /** The broker serves the API. */
  readonly served: boolean;
  /** Why not, and what the operator could do. */
  readonly reason: string;
  /** The broker said that this user may not ask: rights may be granted at any time. */
  readonly refused: boolean;
}

/**
 * Asks a broker whether it serves an API. Mosquitto 2.1 and the embedded broker say at once that they do not; 2.0 says nothing, so silence
 * for `silenceMs` counts as no. A publish that is not allowed leaves the question open and counts as no, with a reason of its own.
 * Errors: BROKER_UNREACHABLE when the connection ends meanwhile.
 */
export async function probe(client: ControlClient, api: ControlApi, silenceMs: number): Promise<ProbeResult> {
  try {
    await ask(client, api, silenceMs);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'BROKER_UNREACHABLE') throw error;
    return resultOf(api, error);
  }
  return SERVED;
}

function ask(client: ControlClient, api: ControlApi, timeoutMs: number): Promise<unknown> {
  const [command, fields] = PROBES[api] ?? BRIDGE_PROBE;
  return client.call(api, command, fields, { timeoutMs, probe: true });
}

/** What a broker that answers in any case has not answered in that time, it will not. */
const PATIENCE_MS = 10 * 60_000;

/**
 * Asks a broker that answers in any case, but now and then late: a node waits for the others, or the machine is busy. Silence says nothing
 * about it, so who does not wait longer leaves the question open, and who asks next finds its answer.
 */
export class PatientProbes {
  readonly #open = new Map<ControlApi, Promise<ProbeResult>>();

  /** Errors: as `probe`; BROKER_TIMEOUT after `timeoutMs`. */
  async ask(client: ControlClient, api: ControlApi, timeoutMs: number): Promise<ProbeResult> {
    const question = this.#open.get(api) ?? this.#begin(client, api);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const text = `The broker did not say within ${timeoutMs} ms whether it serves ${api}`;
      timer = setTimeout(() => reject(new ServiceError('BROKER_TIMEOUT', text)), timeoutMs);
    });
    try {
      const result = await Promise.race([question, late]);
      this.#end(api, question);
      return result;
    } finally {
      clearTimeout(timer);
    }
  }

  /** What was asked was asked over another connection. */
  forget(): void {
    this.#open.clear();
  }

  #begin(client: ControlClient, api: ControlApi): Promise<ProbeResult> {
    const question = ask(client, api, PATIENCE_MS).then(
      () => SERVED,
      (error: unknown) => {
        const said = error instanceof ServiceError && !['BROKER_UNREACHABLE', 'BROKER_TIMEOUT'].includes(error.code);
        if (!said) throw error;
        return resultOf(api, error);
      },
    );
    this.#open.set(api, question);
    question.catch(() => this.#end(api, question));
    return question;
  }

  #end(api: ControlApi, question: Promise<ProbeResult>): void {
    if (this.#open.get(api) === question) this.#open.delete(api);
  }
}

function resultOf(api: ControlApi, { code, info }: ServiceError): ProbeResult {
  const text = typeof info?.brokerError === 'string' ? info.brokerError : null;
  if (text === null && code === 'NOT_ALLOWED') return { ...notServed(deniedReason(api)), refused: true };
  if (text === null || /endpoint not available/i.test(text)) {
    return notServed(REASONS[api] ?? `The broker does not offer ${api}`);
  }
  if (/licen[cs]e/i.test(text)) return notServed(`The broker's plugin for ${api} says: ${text}`);
  return SERVED;
}

const SERVED: ProbeResult = { served: true, reason: '', refused: false };
const notServed = (reason: string): ProbeResult => ({ served: false, reason, refused: false });

function deniedReason(api: ControlApi): string {
  return (
    `The broker does not let this service use ${api}: its user needs publishClientSend on ${requestTopic(api)}, ` +
    `and subscribePattern and publishClientReceive on ${responseTopic(api)}`
  );
}
