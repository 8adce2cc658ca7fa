import { useState } from 'react';
import { ask } from '../graph/ask.ts';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import type { RefusedError } from '../graph/refused.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { auditTexts } from './texts.ts';

const VERIFY = graphql(`query VerifyAudit($expect: String) {
  verifyAudit(expect: $expect) {
    isIntact
    checked
    problemCount
    problems { sequence reason }
    head { sequence hash }
  }
}`);

type Result = ResultOf<typeof VERIFY>['verifyAudit'];

/** Checks that no entry was changed, deleted, inserted or moved. */
export function Verification() {
  const text = useTexts(auditTexts);
  const numberText = useNumbers();
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [expect, setExpect] = useState('');
  const [error, setError] = useState<RefusedError | null>(null);
  const [result, setResult] = useState<Result | null>(null);
  const verify = async () => {
    setBusy(true);
    const response = await ask(VERIFY, { expect: expect === '' ? null : expect });
    setBusy(false);
    setError(response.error);
    setResult(response.data?.verifyAudit ?? null);
  };
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {text('verify')}
      </button>
      {isOpen && (
        <Confirmation
          title={text('verify')}
          action={text('verifyNow')}
          isBusy={isBusy}
          error={error}
          onConfirm={() => void verify()}
          onClose={() => setOpen(false)}
        >
          <p>{text('verifyWhat')}</p>
          <Field label={text('expect')} hint={text('expectHint')}>
            <input
              autoComplete="off"
              spellCheck={false}
              value={expect}
              onInput={({ currentTarget: { value } }) => setExpect(value.trim())}
            />
          </Field>
          <div role="status">
            {result && (
              <>
                <p className={`result ${result.isIntact ? 'DONE' : 'FAILED'}`}>
                  {text(result.isIntact ? 'intact' : 'notIntact', {
                    checked: numberText(result.checked),
                    count: numberText(result.problemCount),
                  })}
                </p>
                <ul>
                  {result.problems.map(({ sequence, reason }) => (
                    <li key={`${sequence} ${reason}`}>
                      {text('problem', { sequence })} <AsSent>{reason}</AsSent>
                    </li>
                  ))}
                </ul>
                <p>{text('head', { sequence: result.head.sequence })}</p>
                <CommandToCopy command={result.head.hash} />
              </>
            )}
          </div>
        </Confirmation>
      )}
    </>
  );
}
