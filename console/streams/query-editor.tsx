import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { EXAMPLES, type Expression, expressionOf, queryOf } from './expression.ts';
import { JsonEditor } from './json-editor.tsx';
import { jsonOf } from './json-text.ts';
import { streamTexts } from './texts.ts';

interface QueryEditorProps {
  /** The query at first; later only the editor changes it. */
  readonly value: unknown;
  /** The query, and whether it can be saved. */
  readonly onChange: (value: unknown, isValid: boolean) => void;
}

/** The query of a stream: JSON with `select` and `where`, or two expressions in CEL. */
export function QueryEditor({ value, onChange }: QueryEditorProps) {
  const text = useTexts(streamTexts);
  const [isExpression, setIsExpression] = useState(() => expressionOf(value) !== null);
  const [expression, setExpression] = useState<Expression>(() => expressionOf(value) ?? {});
  const [json, setJson] = useState(() => JSON.stringify(expressionOf(value) === null ? value : {}, null, 2));
  const { problem } = jsonOf(json);
  const changeJson = (changed: string) => {
    setJson(changed);
    const parsed = jsonOf(changed);
    onChange(parsed.value, parsed.problem === null);
  };
  const changeExpression = (changed: Expression) => {
    setExpression(changed);
    onChange(queryOf(changed), true);
  };
  const choose = (chosen: boolean) => {
    setIsExpression(chosen);
    if (chosen) changeExpression(expression);
    else changeJson(json);
  };
  const choice = (chosen: boolean) => (
    <label>
      <input type="radio" name="form" checked={isExpression === chosen} onChange={() => choose(chosen)} />{' '}
      {text(chosen ? 'byExpression' : 'bySelect')}
    </label>
  );
  return (
    <>
      <h3 id="query-forms">{text('query')}</h3>
      <div role="radiogroup" aria-labelledby="query-forms" className="query-forms">
        {choice(false)}
        {choice(true)}
      </div>
      {isExpression ? (
        <Expressions value={expression} onChange={changeExpression} />
      ) : (
        <>
          <JsonEditor label={text('query')} value={json} onChange={changeJson} />
          {problem !== null && <p role="alert">{text('badJson', { problem })}</p>}
        </>
      )}
    </>
  );
}

interface ExpressionsProps {
  readonly value: Expression;
  readonly onChange: (value: Expression) => void;
}

function Expressions({ value, onChange }: ExpressionsProps) {
  const text = useTexts(streamTexts);
  const input = (name: 'filter' | 'output', rows: number) => (
    <textarea
      className="code"
      rows={rows}
      spellCheck={false}
      value={value[name] ?? ''}
      onInput={({ currentTarget }) => onChange({ ...value, [name]: currentTarget.value })}
    />
  );
  return (
    <div className="query-fields fields">
      <Field label={text('filter')} hint={text('filterHint')}>
        {input('filter', 2)}
      </Field>
      <Field label={text('result')} hint={text('resultHint')}>
        {input('output', 4)}
      </Field>
      <Field label={text('example')} hint={text('expressionHint')}>
        <select
          value=""
          onChange={({ currentTarget }) => {
            const chosen = EXAMPLES[Number(currentTarget.value)];
            if (chosen) onChange(chosen.expression);
          }}
        >
          <option value="">{text('chooseExample')}</option>
          {EXAMPLES.map(({ title }, index) => (
            <option key={title} value={index}>
              {text(title)}
            </option>
          ))}
        </select>
      </Field>
    </div>
  );
}
