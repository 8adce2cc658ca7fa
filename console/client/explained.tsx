import type { VariablesOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Problem } from '../ui/problem.tsx';
import { EXPLAIN, type Explanation, type LookedAtRule } from './operations.ts';
import { ruleText } from './rule-text.ts';
import { clientTexts } from './texts.ts';

/** Access control may change at any time. */
const ACCESS_MS = 2_000;

interface ExplainedProps {
  readonly variables: VariablesOf<typeof EXPLAIN>;
}

/** Whether an access is allowed, which rule decided, and what would change the decision. */
export function Explained({ variables }: ExplainedProps) {
  const text = useTexts(clientTexts);
  const numberText = useNumbers();
  const { data, error } = useQuery(EXPLAIN, variables, ACCESS_MS);
  if (error || !data) return <Problem error={error} />;
  const { explainAccess: found } = data;
  const { decidedBy } = found;
  return (
    <div className={`client-explained ${found.allowed ? 'client-allowed' : 'client-denied'}`}>
      <p role="status">
        <strong>{text(found.allowed ? 'allowed' : 'denied')}</strong> {text(found.reason)}
      </p>
      {decidedBy && (
        <p>
          {text('decidedBy')} <LookedAt looked={decidedBy} />
        </p>
      )}
      {found.conditional && <p>{text('conditional')}</p>}
      {!found.allowed && <p>{text('help', { help: helpFor(found) })}</p>}
      {found.remarks.map((remark) => (
        <p key={remark} className="quiet">
          {remark}
        </p>
      ))}
      {found.elsewhere && <p className="quiet">{found.elsewhere}</p>}
      {found.lookedAt.length > 0 && (
        <details>
          <summary>{text('lookedAt', { count: numberText(found.lookedAtTotal) })}</summary>
          <ol>
            {found.lookedAt.map((looked, index) => (
              <li key={index}>
                <LookedAt looked={looked} /> <span className="quiet">{text(looked.verdict)}</span>
              </li>
            ))}
          </ol>
        </details>
      )}
      <CopyAs document={EXPLAIN} variables={variables} />
    </div>
  );

  function helpFor({ reason, defaultAclType }: Explanation): string {
    const values = { topic: variables.topic, what: text(defaultAclType) };
    return text(`help${reason}`, values);
  }
}

function LookedAt({ looked: { rule, roleName, groupName } }: { readonly looked: LookedAtRule }) {
  const text = useTexts(clientTexts);
  return (
    <>
      {rule ? ruleText(rule, text) : text('noWildcards')}{' '}
      {groupName === null
        ? text('ofRole', { role: roleName })
        : text('ofRoleInGroup', { role: roleName, group: groupName })}
    </>
  );
}
