import { type FormEvent, useState } from 'react';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { DialogButtons } from '../ui/dialog-buttons.tsx';
import { Field } from '../ui/field.tsx';
import { localTime, timeOfInput } from '../ui/local-time.ts';
import { Refusal } from '../ui/problem.tsx';
import { RangeChoice } from '../ui/range-choice.tsx';
import { TimeField } from '../ui/time-field.tsx';
import { REPLAY, type Stream } from './stream-graph.ts';
import { streamTexts } from './texts.ts';

interface ReplayFormProps {
  readonly brokerId: string;
  readonly stream: Stream;
  readonly onClose: () => void;
  readonly onStarted: () => void;
}

/** Starts a replay of the stored messages of a stream. */
export function ReplayForm({ brokerId, stream, onClose, onStarted }: ReplayFormProps) {
  const text = useTexts(streamTexts);
  const { run, isBusy, error } = useMutation(REPLAY);
  const [form, setForm] = useState({ topic: '', from: '', to: '', speed: '1', limit: '', reverse: false });
  const change = (changed: Partial<typeof form>) => setForm({ ...form, ...changed });
  const start = async (event: FormEvent) => {
    event.preventDefault();
    const { topic, from, to, speed, limit, reverse } = form;
    const started = await run({
      input: {
        brokerId,
        name: stream.name,
        topic,
        reverse,
        ...(speed === '' ? { fastest: true } : { speed: Number(speed) }),
        ...(from !== '' && { from: timeOfInput(from) }),
        ...(to !== '' && { to: timeOfInput(to) }),
        ...(limit !== '' && { limit: Number(limit) }),
      },
    });
    if (started) onStarted();
  };
  const input = (name: 'topic' | 'speed' | 'limit', type: string) => (
    <input
      type={type}
      required={name === 'topic'}
      min={type === 'number' ? 0 : undefined}
      step={name === 'speed' ? 'any' : undefined}
      value={form[name]}
      onInput={({ currentTarget: { value } }) => change({ [name]: value })}
    />
  );
  const isReady = [form.from, form.to].every((time) => time === '' || timeOfInput(time) !== '');
  return (
    <Dialog title={text('replayOf', { name: stream.name })} onClose={onClose}>
      <form className="fields" onSubmit={(event) => void start(event)}>
        <p>{text('replayHint')}</p>
        <Field label={text('replayTopic')}>{input('topic', 'text')}</Field>
        <RangeChoice onRange={({ from, to }) => change({ from: localTime(from), to: localTime(to) })} />
        {(['from', 'to'] as const).map((key) => (
          <TimeField
            key={key}
            label={text(key)}
            hint={text(`${key}Hint`)}
            value={form[key]}
            onValue={(value) => change({ [key]: value })}
          />
        ))}
        <Field label={text('speed')} hint={text('speedHint')}>
          {input('speed', 'number')}
        </Field>
        <Field label={text('limit')} hint={text('limitHint')}>
          {input('limit', 'number')}
        </Field>
        <label>
          <input
            type="checkbox"
            checked={form.reverse}
            onChange={({ currentTarget: { checked } }) => change({ reverse: checked })}
          />{' '}
          {text('reverse')}
        </label>
        <Refusal error={error} />
        <DialogButtons action={text('startReplay')} isBusy={isBusy} isReady={isReady} onClose={onClose} />
      </form>
    </Dialog>
  );
}
