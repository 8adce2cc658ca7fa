import { grantCommands, type NeededRights } from '../../../protocol/apis/missing-rights.ts';
import type { CapabilityReasonCode } from '../../../protocol/control/capability-reason.ts';
import { type ControlApi, requestTopic, responseTopic } from '../../../protocol/control/envelope.ts';
import type { ControlCapability } from '../../../protocol/control/plugin.ts';
import { LOG_TOPIC } from '../../../protocol/mosquitto-log/log-reader.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import type { ProblemFact } from '../model/problem-fact.ts';
import type { ProblemKind } from '../model/problem-kinds.ts';
import type { BrokerSource } from '../model/problem-source.ts';

/** Reasons that an operator can do something about. What a broker just does not have is no problem. */
const KINDS: Readonly<Partial<Record<CapabilityReasonCode, ProblemKind>>> = {
  PERMISSION_MISSING: 'BROKER_RIGHTS_MISSING',
  LOG_PERMISSION_MISSING: 'BROKER_RIGHTS_MISSING',
  LOG_NOT_UNDERSTOOD: 'LOG_NOT_UNDERSTOOD',
  CONTROL_API_DISABLED: 'CAPABILITY_MISSING',
  LICENSE_MISSING: 'CAPABILITY_MISSING',
  LOG_MISSING: 'CAPABILITY_MISSING',
  LOG_NOT_PUBLISHED: 'CAPABILITY_MISSING',
  LOG_WITHOUT_CONNECTIONS: 'CAPABILITY_MISSING',
};

/** Others belong to commercial plugins, or add details only: most brokers never grant them. */
const APIS: readonly ControlApi[] = ['dynamic-security', 'cedalo/inspect'];

const WITH_COMMANDS = '\nIf the broker has dynamic security, run these commands as its administrator:';

/** How often an API with a problem is resolved again, which may ask the broker. */
const AGAIN_MS = 10_000;

/** Missing rights and functions, as far as they are known: nothing is asked of a broker without such a problem. */
export function capabilitySource({ runtimes }: { readonly runtimes: BrokerRuntimes }): BrokerSource {
  const asked = new Map<string, number>();
  const askAgain = ({ id, controls }: BrokerRuntime, limited: readonly ControlCapability[]) => {
    const now = performance.now();
    if (limited.length === 0) asked.delete(id);
    else if (!asked.has(id)) asked.set(id, now);
    else if (now - (asked.get(id) ?? now) >= AGAIN_MS) {
      asked.set(id, now);
      for (const { api } of limited) controls.capability(api).catch(() => undefined);
    }
  };
  return {
    kinds: ['BROKER_RIGHTS_MISSING', 'CAPABILITY_MISSING', 'LOG_NOT_UNDERSTOOD'],
    of: (broker) => {
      const runtime = runtimes.find(broker.id);
      if (runtime === null) return null;
      const limited = APIS.flatMap((api) => runtime.controls.known(api) ?? []).filter(
        ({ reasonCode }) => reasonCode && KINDS[reasonCode],
      );
      askAgain(runtime, limited);
      const { problem } = runtime.sys;
      return [
        ...(problem === null ? [] : [factOf('BROKER_RIGHTS_MISSING', broker, '$SYS', problem, { read: ['$SYS/#'] })]),
        ...limited.flatMap(({ api, reason = '', reasonCode }) => {
          const kind = reasonCode && KINDS[reasonCode];
          return kind ? [factOf(kind, broker, api, reason, rightsFor(api, reasonCode))] : [];
        }),
      ];
    },
  };
}

function rightsFor(api: ControlApi, code: CapabilityReasonCode): NeededRights | null {
  if (code === 'LOG_PERMISSION_MISSING') return { read: [`${LOG_TOPIC}#`] };
  return code === 'PERMISSION_MISSING' ? { send: [requestTopic(api)], read: [responseTopic(api)] } : null;
}

/** The text names the remedy after its first sentence. `rights`: what is missing, for the commands that grant it. */
function factOf(
  kind: ProblemKind,
  { id, name, username }: BrokerRecord,
  part: string,
  text: string,
  rights: NeededRights | null,
): ProblemFact {
  const end = text.search(/[.:] /);
  const remedy = end < 0 ? text : text.slice(end + 2);
  const commands = rights === null || username === null ? '' : grantCommands(username, rights);
  const whatWouldHelp = commands === '' ? remedy : `${remedy}${WITH_COMMANDS}\n${commands}`;
  return { kind, subjectId: id, subjectName: name, part, detail: `${part}: ${text}`, whatWouldHelp };
}
