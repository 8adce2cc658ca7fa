import { grantCommands, type NeededRights } from '../../../protocol/apis/missing-rights.ts';
import type { CapabilityReasonCode } from '../../../protocol/control/capability-reason.ts';
import { type ControlApi, requestTopic, responseTopic } from '../../../protocol/control/envelope.ts';
import type { ControlCapability } from '../../../protocol/control/plugin.ts';
import { LOG_TOPIC } from '../../../protocol/mosquitto-log/log-reader.ts';
import { type Statement, statement } from '../../../protocol/problems/problem-statements.ts';
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
        ...(problem === null ? [] : [sysFact(broker, problem)]),
        ...limited.flatMap(({ api, reason = '', reasonCode }) => {
          const kind = reasonCode && KINDS[reasonCode];
          if (!kind) return [];
          const remedy = remedyOf(broker, reason, rightsFor(api, reasonCode));
          const { commands } = remedy;
          const stated = statement('CAPABILITY', { api, error: reason }, { reasonCode, commands });
          return [factOf(kind, broker, api, stated, remedy)];
        }),
      ];
    },
  };
}

function rightsFor(api: ControlApi, code: CapabilityReasonCode): NeededRights | null {
  if (code === 'LOG_PERMISSION_MISSING') return { read: [`${LOG_TOPIC}#`] };
  return code === 'PERMISSION_MISSING' ? { send: [requestTopic(api)], read: [responseTopic(api)] } : null;
}

interface Remedy {
  readonly text: string;
  /** They grant the missing rights. Empty if they are not known. */
  readonly commands: string;
}

/** The text of a capability names the remedy after its first sentence. `rights`: those that are missing. */
function remedyOf({ username }: BrokerRecord, text: string, rights: NeededRights | null): Remedy {
  const end = text.search(/[.:] /);
  const commands = rights === null || username === null ? '' : grantCommands(username, rights);
  return { text: end < 0 ? text : text.slice(end + 2), commands };
}

function sysFact(broker: BrokerRecord, problem: string): ProblemFact {
  const remedy = remedyOf(broker, problem, { read: ['$SYS/#'] });
  const { text: error, commands } = remedy;
  return factOf(
    'BROKER_RIGHTS_MISSING',
    broker,
    '$SYS',
    statement('SYS_NOT_READABLE', { error }, { commands }),
    remedy,
  );
}

function factOf(
  kind: ProblemKind,
  { id, name }: BrokerRecord,
  part: string,
  stated: Statement,
  { text, commands }: Remedy,
): ProblemFact {
  const whatWouldHelp = commands === '' ? text : `${text}${WITH_COMMANDS}\n${commands}`;
  return { kind, subjectId: id, subjectName: name, part, statements: [stated], whatWouldHelp };
}
