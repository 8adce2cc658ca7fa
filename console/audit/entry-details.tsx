import { useTexts } from '../texts/texts.ts';
import type { Entry } from './audit-entry.ts';
import { differencesOf, fieldsOf } from './differences.ts';
import { auditTexts } from './texts.ts';

const ELEMENTS = { same: 'span', added: 'ins', removed: 'del' } as const;

/** What an entry changed: the previous and the new values, and where the request came from. */
export function EntryDetails({ entry }: { readonly entry: Entry }) {
  const text = useTexts(auditTexts);
  const { operation, after, code, sequence, actorKind, via, address, requestId, targetId, hash } = entry;
  const facts = [
    ['outcome', fieldsOf(after).get('outcome') ?? null],
    ['code', code],
    ['operation', operation],
    ['targetId', targetId],
    ['actorKind', text(actorKind)],
    ['via', text(`via${via}`)],
    ['address', address],
    ['requestId', requestId],
    ['number', sequence],
    ['hash', hash],
  ] as const;
  const differences = differencesOf(entry);
  return (
    <details className="entry">
      <summary>{[text('details'), differences.map(({ key }) => key).join(', ')].filter(Boolean).join(': ')}</summary>
      <dl>
        {differences.map(({ key, lines }) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>
              {lines.map(({ kind, text: line }, index) => {
                const Line = ELEMENTS[kind];
                return <Line key={index}>{line}</Line>;
              })}
            </dd>
          </div>
        ))}
      </dl>
      <dl>
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
