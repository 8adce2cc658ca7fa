import { useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { type ShownProblem, SILENCE } from './operations.ts';
import { problemTexts } from './texts.ts';

interface SilenceProps {
  readonly problem: ShownProblem;
  readonly projectId: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const HOURS = [1, 4, 8, 24, 72] as const;
const HOUR_MS = 3_600_000;

/** Silences the problems of a broker or a project for some hours, for example during maintenance. */
export function Silence({ problem: { broker, project }, projectId, onDone, onClose }: SilenceProps) {
  const text = useTexts(problemTexts);
  const { run, isBusy, error } = useMutation(SILENCE);
  const [reason, setReason] = useState('');
  const [hours, setHours] = useState(1);
  const silence = async () => {
    const until = new Date(Date.now() + hours * HOUR_MS).toISOString();
    const filter = broker ? { brokerIds: [broker.id] } : null;
    if ((await run({ input: { projectId, until, reason, filter } })) !== null) onDone();
  };
  return (
    <Confirmation
      title={text('silenceOf', { name: broker?.name ?? project?.name })}
      action={text('silenceFor', { hours })}
      isBusy={isBusy}
      isReady={reason !== ''}
      error={error}
      onConfirm={() => void silence()}
      onClose={onClose}
    >
      <div className="fields">
        <p>{text('silenceMeans')}</p>
        <Field label={text('reason')}>
          <input
            value={reason}
            required={true}
            maxLength={4_000}
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
            autoFocus={true}
            onInput={({ currentTarget: { value } }) => setReason(value)}
          />
        </Field>
        <Field label={text('howLong')}>
          <select value={hours} onChange={({ currentTarget: { value } }) => setHours(Number(value))}>
            {HOURS.map((count) => (
              <option key={count} value={count}>
                {text('hours', { count })}
              </option>
            ))}
          </select>
        </Field>
      </div>
    </Confirmation>
  );
}
