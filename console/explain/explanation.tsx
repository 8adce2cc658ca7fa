import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Age } from '../ui/age.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { DecidingRule, RulesLookedAt } from './looked-at.tsx';
import { whyTexts } from './texts.ts';
import type { Inputs } from './use-why.ts';
import './style.css';

const EXPLAIN = graphql(`query ExplainAccess(
  $brokerId: ID!
  $action: AccessAction!
  $topic: String!
  $username: String
  $anonymous: Boolean
  $clientId: String
  $withRoles: [HeldRoleInput!]
  $withoutRoles: [String!]
) {
  explainAccess(
    brokerId: $brokerId
    action: $action
    topic: $topic
    username: $username
    anonymous: $anonymous
    clientId: $clientId
    withRoles: $withRoles
    withoutRoles: $withoutRoles
  ) {
    allowed
    asOf
    conditional
    reason
    defaultAclType
    defaultAllows
    elsewhere
    remarks
    lookedAtTotal
    decidedBy { roleName groupName priority verdict rule { aclType topic allow priority } }
    lookedAt { roleName groupName priority verdict rule { aclType topic allow priority } }
  }
}`);

interface ExplanationProps {
  readonly revision: number;
  /** `null`: without a user name. */
  readonly account: string | null;
  readonly inputs: Inputs;
  /** Follows what decided. */
  readonly children?: ReactNode;
}

/** The decision of the broker with all that led to it. */
export function Explanation({ revision, account, inputs, children }: ExplanationProps) {
  const text = useTexts(whyTexts);
  const numberOf = useNumbers();
  const { id } = useBroker();
  const { withRoles, withoutRoles } = inputs;
  const variables = {
    brokerId: id,
    action: inputs.action,
    topic: inputs.topic,
    ...(account === null ? { anonymous: true } : { username: account }),
    ...(inputs.clientId !== '' && { clientId: inputs.clientId }),
    ...(withRoles.length > 0 && {
      withRoles: withRoles.map(({ name, priority }) => ({ roleName: name, priority })),
    }),
    ...(withoutRoles.length > 0 && { withoutRoles: [...withoutRoles] }),
  };
  const { data, error, isCurrent } = useFresh(EXPLAIN, variables, revision);
  if (error && isCurrent) return <Refusal error={error} />;
  if (data === null) return <Problem error={error} />;
  const found = data.explainAccess;
  const isAssumed = withRoles.length > 0 || withoutRoles.length > 0;
  const verdict = found.allowed ? 'isAllowed' : 'isDenied';
  return (
    <section aria-label={text('decision')} aria-busy={!isCurrent} className={isCurrent ? '' : 'stale'}>
      <div role="status">
        <p className={`why-verdict ${found.allowed ? 'why-allowed' : 'why-denied'}`}>
          {text(isAssumed ? `${verdict}Assumed` : verdict, {
            who: account ?? text('anonymous'),
            action: text(inputs.action),
            topic: inputs.topic,
          })}
        </p>
      </div>
      <p>
        {text(found.reason, { kind: text(found.defaultAclType) })}{' '}
        {found.conditional && <strong>{text('conditional')}</strong>}
      </p>
      {found.decidedBy && <DecidingRule decidedBy={found.decidedBy} />}
      {!found.allowed && (
        <p>
          {text('help', {
            help: text(`help${found.reason}`, { topic: inputs.topic, what: text(found.defaultAclType) }),
          })}
        </p>
      )}
      {found.elsewhere !== null && (
        <p className="note" lang="en">
          {found.elsewhere}
        </p>
      )}
      {found.remarks.map((remark) => (
        <p key={remark} className="note" lang="en">
          {remark}
        </p>
      ))}
      <p className="why-links">
        {account !== null && found.reason !== 'UNKNOWN_USER' && (
          <Link href={accessAddress(id, 'accounts', { name: account })}>{text('toAccount', { name: account })}</Link>
        )}
        {found.decidedBy && (
          <Link href={accessAddress(id, 'roles', { name: found.decidedBy.roleName })}>
            {text('toRole', { name: found.decidedBy.roleName })}
          </Link>
        )}
        {!found.decidedBy && <Link href={accessAddress(id, 'defaults')}>{text('toDefaults')}</Link>}
        <Age asOf={found.asOf} />
      </p>
      {children}
      <details>
        <summary>{text('lookedAt', { count: numberOf(found.lookedAtTotal) })}</summary>
        {found.lookedAtTotal > 0 && <RulesLookedAt rules={found.lookedAt} />}
      </details>
      <p className="quiet">
        {text(found.defaultAllows ? 'defaultAllows' : 'defaultDenies', { kind: text(found.defaultAclType) })}
      </p>
      <CopyAs document={EXPLAIN} variables={variables} />
    </section>
  );
}
