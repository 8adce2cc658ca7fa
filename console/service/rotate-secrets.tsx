import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Facts } from '../ui/facts.tsx';
import { serviceTexts } from './texts.ts';

const ROTATE = graphql(`mutation RotateSecrets {
  rotateSecrets { resealed removable unreadableCount unreadable { context reason } }
}`);

/** Encrypts all stored secrets with the current key, and states which secrets no key opens. */
export function RotateSecrets() {
  const text = useTexts(serviceTexts);
  const numberText = useNumbers();
  const { run, isBusy, error } = useMutation(ROTATE);
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<ResultOf<typeof ROTATE>['rotateSecrets'] | null>(null);
  const rotate = async () => {
    const done = await run({});
    if (done === null) return;
    setResult(done.rotateSecrets);
    setOpen(false);
  };
  return (
    <section>
      <h2>{text('secrets')}</h2>
      <p>{text('secretsMean')}</p>
      <button type="button" onClick={() => setOpen(true)}>
        {text('rotate')} …
      </button>
      {result && (
        <div role="status">
          <Facts
            facts={[
              [text('resealed'), numberText(result.resealed)],
              [text('removable'), result.removable && <code key="key">{result.removable}</code>],
            ]}
          />
          {result.unreadableCount > 0 && (
            <>
              <p role="alert">{text('unreadable', { count: numberText(result.unreadableCount) })}</p>
              <ul>
                {result.unreadable.map(({ context, reason }) => (
                  <li key={context}>
                    <code>{context}</code>: {reason}
                  </li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
      {isOpen && (
        <Confirmation
          title={text('rotate')}
          action={text('rotate')}
          isBusy={isBusy}
          error={error}
          onConfirm={() => void rotate()}
          onClose={() => setOpen(false)}
        >
          <p>{text('rotateMeans')}</p>
        </Confirmation>
      )}
    </section>
  );
}
