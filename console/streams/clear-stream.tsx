import { useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { CLEAR } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface ClearStreamProps {
  readonly brokerId: string;
  readonly name: string;
  /** Number of stored messages. */
  readonly count: number;
}

/** Deletes the stored messages of a stream after a confirmation. */
export function ClearStream({ brokerId, name, count }: ClearStreamProps) {
  const text = useTexts(streamTexts);
  const numberText = useNumbers();
  const { run, isBusy, error } = useMutation(CLEAR);
  const [isOpen, setOpen] = useState(false);
  const clear = async () => {
    if ((await run({ input: { brokerId, name } })) !== null) setOpen(false);
  };
  return (
    <>
      <button type="button" className="danger" onClick={() => setOpen(true)}>
        {text('clearStored')} …
      </button>
      {isOpen && (
        <Confirmation
          title={text('clearStoredOf', { name })}
          action={text('clearStored')}
          isDestructive={true}
          isBusy={isBusy}
          error={error}
          onConfirm={() => void clear()}
          onClose={() => setOpen(false)}
        >
          <p>{text('deletesStored', { count: numberText(count) })}</p>
        </Confirmation>
      )}
    </>
  );
}
