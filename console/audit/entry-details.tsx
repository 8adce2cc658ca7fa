import { useTexts } from '../texts/texts.ts';
import type { Entry } from './audit-entry.ts';
import { differencesOf } from './differences.ts';
import { auditTexts } from './texts.ts';

/** What an entry changed: the previous and the new values, and where the request came from. */
export function EntryDetails({ entry }: { readonly entry: Entry }) {
  const text = useTexts(auditTexts);
  const { before, after, sequence, actorKind, actorIssuer, address, requestId, projectId, brokerId, hash } = entry;
  const facts = [
    ['number', sequence],
    ['actorKind', text(actorKind)],
    ['actorIssuer', actorIssuer],
    ['address', address],
    ['requestId', requestId],
    ['projectId', projectId],
    ['brokerId', brokerId],
    ['hash', hash],
  ] as const;
  const differences = differencesOf(before, after);
  return (
    <details className="entry">
      <summary>{differences.length === 0 ? text('details') : differences.map(({ key }) => key).join(', ')}</summary>
      <dl>
        {differences.map((difference) => (
          <div key={difference.key}>
            <dt>{difference.key}</dt>
            <dd>
              {difference.before !== null && difference.before !== difference.after && <del>{difference.before}</del>}{' '}
              {difference.after !== null &&
                (difference.before === difference.after ? difference.after : <ins>{difference.after}</ins>)}
            </dd>
          </div>
        ))}
        {facts.map(([key, value]) =>
          value === null || value === '' ? null : (
            <div key={key}>
              <dt>{text(key)}</dt>
              <dd>{value}</dd>
            </div>
          ),
        )}
      </dl>
    </details>
  );
}
