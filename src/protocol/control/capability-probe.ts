import { ServiceError } from '../../platform/errors.ts';
import { within } from '../../platform/scheduling/within.ts';
import { type CapabilityReason, notOffered } from './capability-reason.ts';
import type { ControlClient } from './control-client.ts';
import { type ControlApi, requestTopic, responseTopic } from './envelope.ts';

/** The control APIs that are probed on every broker. Bridges are probed in addition, by name. */
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

/** One command per API that changes nothing. A response that it is unknown also proves that the API is served. */
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
  'brokergraph/refusals': ['listRefusals', { count: 1 }],
};
const BRIDGE_PROBE = ['getStatus', {}] as const;

const REASONS: Readonly<Record<string, CapabilityReason>> = {
  broker: {
    code: 'CONTROL_API_DISABLED',
    text: 'The broker does not serve this API: Mosquitto 2.1 does with `enable_control_api true` in mosquitto.conf, and Mosquitto 2.0 does not have it',
  },
  'dynamic-security': {
    code: 'NO_DYNAMIC_SECURITY',
    text: 'The broker has no dynamic security: load the plugin with `plugin …/mosquitto_dynamic_security.so` and `plugin_opt_config_file`',
  },
  'certificate-management': {
    code: 'NO_CERTIFICATE_MANAGEMENT',
    text: 'The broker has no certificate management: Mosquitto reads certificates from the files in its configuration, at start and at SIGHUP. Brokers run by this service and brokers with the commercial plugin accept certificates from this service',
  },
  'cedalo/ha': { code: 'NO_CLUSTER_PLUGIN', text: 'The broker has no cluster plugin' },
};

interface ProbeResult {
  /** Why the broker does not serve the API, and what the operator can do. `null` if the broker serves it. */
  readonly reason: CapabilityReason | null;
  /** Whether the broker refused the probe for missing permissions, which may be granted at any time. */
  readonly refused: boolean;
}

/**
 * Probes whether a broker serves an API. Mosquitto 2.0 does not respond if it does not, so silence for `silenceMs`
 * after PUBACK (MQTT 5) counts as not served; so does a refused publish. Errors: BROKER_UNREACHABLE if the connection
 * ends meanwhile.
 */
export async function probe(client: ControlClient, api: ControlApi, silenceMs: number): Promise<ProbeResult> {
  try {
    await sendProbe(client, api, silenceMs);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'BROKER_UNREACHABLE') throw error;
    return resultOf(api, error);
  }
  return SERVED;
}

function sendProbe(client: ControlClient, api: ControlApi, timeoutMs: number): Promise<unknown> {
  const [command, fields] = PROBES[api] ?? BRIDGE_PROBE;
  return client.call(api, command, fields, { timeoutMs, probe: true });
}

const MAX_WAIT_MS = 10 * 60_000;

/** Probes of a broker that always responds, sometimes late. An open probe serves later callers, too. */
export class PatientProbes {
  readonly #open = new Map<ControlApi, Promise<ProbeResult>>();

  /** Errors: as `probe`; BROKER_TIMEOUT after `timeoutMs`. */
  async probe(client: ControlClient, api: ControlApi, timeoutMs: number): Promise<ProbeResult> {
    const probe = this.#open.get(api) ?? this.#start(client, api);
    const text = `The broker did not respond within ${timeoutMs} ms whether it serves ${api}`;
    const result = await within(timeoutMs, probe, () => new ServiceError('BROKER_TIMEOUT', text));
    this.#end(api, probe);
    return result;
  }

  clear(): void {
    this.#open.clear();
  }

  #start(client: ControlClient, api: ControlApi): Promise<ProbeResult> {
    const probe = sendProbe(client, api, MAX_WAIT_MS).then(
      () => SERVED,
      (error: unknown) => {
        const isResponse =
          error instanceof ServiceError && !['BROKER_UNREACHABLE', 'BROKER_TIMEOUT'].includes(error.code);
        if (!isResponse) throw error;
        return resultOf(api, error);
      },
    );
    this.#open.set(api, probe);
    probe.catch(() => this.#end(api, probe));
    return probe;
  }

  #end(api: ControlApi, probe: Promise<ProbeResult>): void {
    if (this.#open.get(api) === probe) this.#open.delete(api);
  }
}

function resultOf(api: ControlApi, { code, info }: ServiceError): ProbeResult {
  const text = typeof info?.brokerError === 'string' ? info.brokerError : null;
  if (text === null && code === 'NOT_ALLOWED') return { ...notServed(deniedReason(api)), refused: true };
  if (text === null || /endpoint not available/i.test(text)) {
    return notServed(REASONS[api] ?? notOffered(api));
  }
  if (/licen[cs]e/i.test(text)) {
    return notServed({ code: 'LICENSE_MISSING', text: `The broker's plugin for ${api} reports: ${text}` });
  }
  return SERVED;
}

const SERVED: ProbeResult = { reason: null, refused: false };
const notServed = (reason: CapabilityReason): ProbeResult => ({ reason, refused: false });

function deniedReason(api: ControlApi): CapabilityReason {
  const text =
    `The broker does not allow this service to use ${api}: its user needs permission to publish to ` +
    `${requestTopic(api)} and to read ${responseTopic(api)} (publishClientSend, and subscribePattern and ` +
    'publishClientReceive in dynamic security)';
  return { code: 'PERMISSION_MISSING', text };
}
