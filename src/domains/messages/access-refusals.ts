import { ServiceError } from '../../platform/errors.ts';
import type { AccessAction, Explanation } from '../../protocol/apis/access-control/access-explanation.ts';
import { ruleWords } from '../../protocol/apis/access-control/rule-words.ts';
import type { AccessControlService } from '../access-control/access-control-service.ts';
import { ALLOWING_RULE, denialAdvice } from '../access-control/explain/denial-advice.ts';
import type { BrokerRecord } from '../brokers/broker-cache.ts';

interface OwnAccess {
  readonly action: Extract<AccessAction, 'PUBLISH' | 'SUBSCRIBE'>;
  readonly topic: string;
  /** Of the connection of this service. */
  readonly clientId: string;
}

const VERBS = { PUBLISH: 'publish to', SUBSCRIBE: 'subscribe to' } as const;

/** Explains with the access control of a broker why the account of this service may not use a topic. */
export class AccessRefusals {
  readonly #access: Pick<AccessControlService, 'explain'>;

  constructor(access: Pick<AccessControlService, 'explain'>) {
    this.#access = access;
  }

  /** Returns the error; NOT_ALLOWED with the rule that decided in `info`. */
  async explained(broker: BrokerRecord, error: unknown, access: OwnAccess): Promise<unknown> {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_ALLOWED') return error;
    return notAllowed(broker, access, await this.explanation(broker, access), error);
  }

  /** `null` if the broker has no dynamic security that this service may read. */
  async explanation(broker: BrokerRecord, access: OwnAccess): Promise<Explanation | null> {
    try {
      return await this.#access.explain(broker, { ...access, username: broker.username });
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }
}

export function notAllowed(
  { username }: BrokerRecord,
  { action, topic }: OwnAccess,
  explanation: Explanation | null,
  cause?: ServiceError,
): ServiceError {
  const whatWouldHelp = helpOf({ action, topic, username }, explanation);
  const account = username === null ? 'without a user name' : `with the account "${username}"`;
  const message = `The broker does not allow this service, which is connected ${account}, to ${VERBS[action]} "${topic}". ${whatWouldHelp}`;
  const info = { ...cause?.info, username, action, topic, decision: decisionOf(explanation), whatWouldHelp };
  return new ServiceError('NOT_ALLOWED', message, { info, cause });
}

function decisionOf(explanation: Explanation | null) {
  if (explanation === null) return null;
  const { allowed, reason, decidedBy, defaultAclType } = explanation;
  const { rolename: roleName, group: groupName, priority, rule } = decidedBy ?? {};
  return { allowed, reason, decidedBy: decidedBy && { roleName, groupName, priority, rule }, defaultAclType };
}

function helpOf(
  access: Omit<OwnAccess, 'clientId'> & { readonly username: string | null },
  explanation: Explanation | null,
): string {
  if (explanation === null) {
    return `The account needs the permission of the broker for ${ruleWords({ aclType: ALLOWING_RULE[access.action], topic: access.topic })}.`;
  }
  if (explanation.allowed) {
    return 'Dynamic security allows this, so another plugin or the ACL file of the broker decides.';
  }
  const { reason, decidedBy } = explanation;
  return denialAdvice({ ...access, reason, decidedBy });
}
