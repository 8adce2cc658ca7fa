import { useMutation } from '../graph/use-mutation.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';
import { DELETE, type Stream } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface DeleteStreamProps {
  readonly brokerId: string;
  readonly stream: Stream;
  readonly onClose: () => void;
}

/** Shows what ends with a stream, and deletes it. */
export function DeleteStream({ brokerId, stream, onClose }: DeleteStreamProps) {
  const text = useTexts(streamTexts);
  const numberText = useNumbers();
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(DELETE);
  const { name, targetTopic, isReplaying, storage, messageCount } = stream;
  const stored = storage?.messages ?? messageCount ?? 0;
  const confirm = async () => {
    if ((await run({ input: { brokerId, name } })) === null) return;
    notify(text('deleted', { name }));
    onClose();
  };
  return (
    <Confirmation
      title={text('deleteStream', { name })}
      action={text('deleteOf', { name })}
      isDestructive={true}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <ul>
        {targetTopic !== null && <li>{text('endsPublishing', { topic: targetTopic })}</li>}
        <li>{text('deletesStored', { count: numberText(stored) })}</li>
        {isReplaying && <li>{text('stopsReplay')}</li>}
      </ul>
    </Confirmation>
  );
}
