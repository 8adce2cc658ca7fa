import { useTexts } from '../texts/texts.ts';
import type { HeldRole } from './operations.ts';
import { ruleText } from './rule-text.ts';
import { clientTexts } from './texts.ts';

/** Roles in the order of their evaluation, with their rules. */
export function RoleList({ title, roles }: { readonly title: string; readonly roles: readonly HeldRole[] }) {
  const text = useTexts(clientTexts);
  if (roles.length === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <ul className="client-roles">
        {roles.map(({ roleName, priority, role }) => (
          <li key={roleName}>
            <details>
              <summary>{text('roleWithPriority', { role: roleName, priority })}</summary>
              {role === null && <p className="quiet">{text('roleMissing')}</p>}
              {role?.allowWildcardSubs === false && <p>{text('noWildcards')}</p>}
              {role?.acls.length === 0 && <p className="quiet">{text('noRules')}</p>}
              <ol>
                {role?.acls.map((rule, index) => (
                  <li key={index} className={rule.allow ? 'client-allowed' : 'client-denied'}>
                    {ruleText(rule, text)}
                  </li>
                ))}
              </ol>
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}
