import { useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { ACKNOWLEDGE, type ShownProblem } from './operations.ts';
import { problemTexts } from './texts.ts';
import { useProblemWords } from './use-problem-words.ts';

interface AcknowledgeProps {
  readonly problem: ShownProblem;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Shows others who looks after a problem. It stays open until its cause is gone. */
export function Acknowledge({ problem, onDone, onClose }: AcknowledgeProps) {
  const text = useTexts(problemTexts);
  const wordsOf = useProblemWords();
  const { run, isBusy, error } = useMutation(ACKNOWLEDGE);
  const [note, setNote] = useState('');
  const acknowledge = async () => {
    const input = { problemId: problem.id, ...(note !== '' && { note }) };
    if ((await run({ input })) !== null) onDone();
  };
  return (
    <Confirmation
      title={wordsOf(problem).title}
      action={text('acknowledge')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void acknowledge()}
      onClose={onClose}
    >
      <div className="fields">
        <p>{text('acknowledgeMeans')}</p>
        <Field label={text('note')}>
          <input
            value={note}
            // biome-ignore lint/a11y/noAutofocus: the only field of the dialog
            autoFocus={true}
            maxLength={4_000}
            onInput={({ currentTarget: { value } }) => setNote(value)}
          />
        </Field>
      </div>
    </Confirmation>
  );
}
