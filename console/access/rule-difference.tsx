import { useTexts } from '../texts/texts.ts';
import { Mark } from './mark.tsx';
import type { Rule } from './rules.tsx';
import { accessTexts } from './texts.ts';

interface RuleDifferenceProps {
  readonly before: readonly Rule[];
  readonly after: readonly Rule[];
}

/** The rules that differ. The command has all rules of the role, because it replaces them. */
export function RuleDifference({ before, after }: RuleDifferenceProps) {
  const text = useTexts(accessTexts);
  const lines = difference(before, after);
  if (lines.length === 0) return null;
  return (
    <>
      <h3>{text('changedRules')}</h3>
      <ul className="access-diff">
        {lines.map(({ key, kind, rule }) => (
          <li key={key} className={kind}>
            <Mark kind={kind} /> {text(rule.allow ? 'allows' : 'denies')}: {text(rule.aclType)}{' '}
            <code>{rule.topic}</code> <span className="quiet">{text('withPriority', { priority: rule.priority })}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** A role has one rule of each type and topic. */
const byIdentity = (rules: readonly Rule[]) => new Map(rules.map((rule) => [`${rule.aclType} ${rule.topic}`, rule]));

interface Line {
  readonly key: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly rule: Rule;
}

function difference(before: readonly Rule[], after: readonly Rule[]): readonly Line[] {
  const [old, now] = [byIdentity(before), byIdentity(after)];
  const lines: Line[] = [];
  for (const [key, rule] of old) if (!now.has(key)) lines.push({ key, kind: 'removed', rule });
  for (const [key, rule] of now) {
    const former = old.get(key);
    if (former === undefined) lines.push({ key, kind: 'added', rule });
    else if (former.allow !== rule.allow || former.priority !== rule.priority)
      lines.push({ key, kind: 'changed', rule });
  }
  return lines;
}
