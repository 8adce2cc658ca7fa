import { useTexts } from '../texts/texts.ts';
import type { Entry } from './audit-entry.ts';
import { changesOf } from './changes-of-entry.ts';
import { type Difference, differencesOf, fieldsOf, isPreview } from './differences.ts';
import { fieldTexts } from './field-texts.ts';
import { auditTexts } from './texts.ts';
import { useOperationName } from './what.tsx';

const ELEMENTS = { same: 'span', added: 'ins', removed: 'del' } as const;

/** What changed is named as long as it fits in a line. */
const NAMED = 4;

/** What an entry changed: the previous and the new values, and where the request came from. */
export function EntryDetails({ entry }: { readonly entry: Entry }) {
  const text = useTexts(auditTexts);
  const operationName = useOperationName();
  const fieldName = useFieldName();
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
  const changes = changesOf(entry);
  const isDone = entry.result === 'DONE' && !isPreview(after) && changes.length === 0;
  const differences = differencesOf({ ...entry, isDone });
  const subjects = [
    ...new Set([
      ...changes.map((change) => operationName(change.operation)),
      ...differences.map(({ key }) => fieldName(key)),
    ]),
  ];
  const named = [...subjects.slice(0, NAMED), ...(subjects.length > NAMED ? ['…'] : [])];
  return (
    <details className="entry">
      <summary className="quiet">{[text('details'), named.join(', ')].filter(Boolean).join(': ')}</summary>
      {changes.map((change, index) => (
        <section key={index}>
          <p>
            {operationName(change.operation)}
            {change.name !== null && ': '}
            {change.name !== null && <strong>{change.name}</strong>}
            {change.outcome !== null && ` (${text(`outcome${change.outcome}`)})`}
          </p>
          <Differences differences={change.differences} />
        </section>
      ))}
      <Differences differences={differences} />
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

function Differences({ differences }: { readonly differences: readonly Difference[] }) {
  const fieldName = useFieldName();
  if (differences.length === 0) return null;
  return (
    <dl>
      {differences.map(({ key, lines }) => (
        <div key={key}>
          <dt>{fieldName(key)}</dt>
          <dd>
            {lines.map(({ kind, text: line }, index) => {
              const Line = ELEMENTS[kind];
              return <Line key={index}>{line}</Line>;
            })}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function useFieldName(): (field: string) => string {
  const text = useTexts(fieldTexts);
  return (field) => (isNamed(field) ? text(field) : field);
}

const isNamed = (field: string): field is keyof typeof fieldTexts.en => Object.hasOwn(fieldTexts.en, field);
