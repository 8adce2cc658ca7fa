import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { silenceTexts } from '../problems/silence-texts.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { useNotices } from '../ui/notices.tsx';

const END = graphql(`mutation EndSilence($input: EndSilenceInput!) { endSilence(input: $input) { endedSilenceId } }`);

interface EndSilenceProps {
  readonly silence: { readonly id: string; readonly reason: string };
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Ends a silence before its time. */
export function EndSilence({ silence: { id, reason }, onDone, onClose }: EndSilenceProps) {
  const text = useTexts(silenceTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(END);
  const end = async () => {
    if ((await run({ input: { silenceId: id } })) === null) return;
    notify(text('ended'));
    onDone();
  };
  return (
    <Confirmation
      title={text('endOf', { reason })}
      action={text('end')}
      isBusy={isBusy}
      error={error}
      onConfirm={() => void end()}
      onClose={onClose}
    >
      <p>{text('endMeans')}</p>
    </Confirmation>
  );
}
