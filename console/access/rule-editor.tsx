import { useId } from 'react';
import { useTexts } from '../texts/texts.ts';
import { useAccess } from './access-context.ts';
import { ACL_TYPES, type Rule } from './rules.tsx';
import { accessTexts } from './texts.ts';
import { TopicSuggestions } from './topic-suggestions.tsx';

/** Rows may be equal while they are edited, so each has a number. */
export interface EditedRule extends Rule {
  readonly key: number;
}

interface RuleEditorProps {
  readonly rules: readonly EditedRule[];
  readonly onChange: (rules: readonly EditedRule[]) => void;
}

/** The rules of a role, one row each. */
export function RuleEditor({ rules, onChange }: RuleEditorProps) {
  const text = useTexts(accessTexts);
  const { knowsSubstitution } = useAccess();
  const list = useId();
  const set = (key: number, part: Partial<Rule>) =>
    onChange(rules.map((rule) => (rule.key === key ? { ...rule, ...part } : rule)));
  const add = () => {
    const key = Math.max(-1, ...rules.map((rule) => rule.key)) + 1;
    onChange([...rules, { key, aclType: 'PUBLISH_CLIENT_SEND', topic: '', allow: true, priority: 0 }]);
  };
  return (
    <fieldset className="access-rules">
      <legend>{text('rules')}</legend>
      <p className="quiet">{text(knowsSubstitution ? 'rulesHintSubstitution' : 'rulesHint')}</p>
      {rules.map(({ key, aclType, topic, allow, priority }, index) => {
        const number = index + 1;
        return (
          <div key={key}>
            <select
              aria-label={text('typeOfRule', { number })}
              value={aclType}
              onChange={({ currentTarget: { value } }) => set(key, { aclType: value as Rule['aclType'] })}
            >
              {ACL_TYPES.map((type) => (
                <option key={type} value={type}>
                  {text(type)}
                </option>
              ))}
            </select>
            <input
              aria-label={text('topicOfRule', { number })}
              placeholder={text('topic')}
              list={list}
              value={topic}
              required
              onInput={({ currentTarget: { value } }) => set(key, { topic: value })}
            />
            <select
              aria-label={text('decisionOfRule', { number })}
              value={String(allow)}
              onChange={({ currentTarget: { value } }) => set(key, { allow: value === 'true' })}
            >
              <option value="true">{text('allows')}</option>
              <option value="false">{text('denies')}</option>
            </select>
            <label>
              {text('priority')}{' '}
              <input
                type="number"
                aria-label={text('priorityOfRule', { number })}
                value={priority}
                min={-100_000}
                max={100_000}
                required
                onInput={({ currentTarget: { valueAsNumber } }) =>
                  Number.isNaN(valueAsNumber) || set(key, { priority: valueAsNumber })
                }
              />
            </label>
            <button
              type="button"
              aria-label={text('removeRule', { number })}
              onClick={() => onChange(rules.filter((rule) => rule.key !== key))}
            >
              {text('remove')}
            </button>
          </div>
        );
      })}
      <TopicSuggestions id={list} />
      <button type="button" onClick={add}>
        {text('addRule')}
      </button>
    </fieldset>
  );
}
