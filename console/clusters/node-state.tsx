import { whyTexts } from '../explain/texts.ts';
import { useTexts } from '../texts/texts.ts';
import { Time } from '../ui/time.tsx';
import type { ClusterNode } from './clusters-live.ts';
import { clusterTexts } from './texts.ts';

/** Whether a node works, and how its access control differs from that of the cluster. */
export function NodeState({ node: { isReachable, error, sync } }: { readonly node: ClusterNode }) {
  const text = useTexts(clusterTexts);
  const ruleText = useTexts(whyTexts);
  return (
    <>
      <span className={isReachable ? 'state CONNECTED' : 'state UNREACHABLE'}>
        {text(isReachable ? 'reachable' : 'UNREACHABLE')}
      </span>
      {sync && (
        <>
          {', '}
          <span className={sync.state === 'DRIFTED' ? 'state UNREACHABLE' : undefined}>{text(sync.state)}</span>{' '}
          <small>
            <Time at={sync.since} />
          </small>
        </>
      )}
      {error && <div lang="en">{error.message}</div>}
      {sync && sync.differenceCount > 0 && (
        <details>
          <summary>{text('differences', { count: sync.differenceCount })}</summary>
          <ul className="plain">
            {sync.differences.map(({ kind, name }) => (
              <li key={`${kind} ${name}`}>{text('difference', { kind: text(kind), name })}</li>
            ))}
          </ul>
        </details>
      )}
      {sync?.differingRules && sync.differingRules.length > 0 && (
        <details>
          <summary>{text('differingRules', { count: sync.differingRules.length })}</summary>
          <ul className="plain">
            {sync.differingRules.map(({ roleName, aclType, topic }) => (
              <li key={`${roleName} ${aclType} ${topic}`}>
                {aclType === null ? (
                  ruleText('wildcardsOfRole', { role: roleName })
                ) : (
                  <>
                    {roleName}: {ruleText(aclType)} <code>{topic}</code>
                  </>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
      {sync && sync.missingPasswords.length > 0 && (
        <div>{text('missingPasswords', { accounts: sync.missingPasswords.join(', ') })}</div>
      )}
    </>
  );
}
