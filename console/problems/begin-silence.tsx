import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useDraft } from '../session/use-draft.ts';
import { useTexts, useTimes } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { minuteOf, timeOfInput } from '../ui/local-time.ts';
import { useNotices } from '../ui/notices.tsx';
import { Restored } from '../ui/restored.tsx';
import { TimeField } from '../ui/time-field.tsx';
import { type Scope, ScopeFields } from './scope-fields.tsx';
import { silenceTexts } from './silence-texts.ts';

const SILENCE = graphql(`mutation SilenceProblems($input: SilenceProblemsInput!) {
  silenceProblems(input: $input) { silence { id } }
}`);

interface BeginSilenceProps {
  readonly project: { readonly id: string; readonly name: string };
  /** Which problems, before the person changes it. */
  readonly scope: Scope;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

const HOUR_MS = 3_600_000;
const MONDAY = 1;

/** The next Monday at 6:00, when a shift begins. */
function nextMonday(): number {
  const day = new Date();
  day.setHours(6, 0, 0, 0);
  do day.setDate(day.getDate() + 1);
  while (day.getDay() !== MONDAY);
  return day.getTime();
}

const ENDS = [
  { key: 'hour', at: () => Date.now() + HOUR_MS },
  { key: 'fourHours', at: () => Date.now() + 4 * HOUR_MS },
  { key: 'day', at: () => Date.now() + 24 * HOUR_MS },
  { key: 'monday', at: nextMonday },
] as const;

/** Silences problems of a project until a time, for example during maintenance. */
export function BeginSilence({ project, scope, onDone, onClose }: BeginSilenceProps) {
  const text = useTexts(silenceTexts);
  const timeOf = useTimes();
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(SILENCE);
  const key = `silence ${project.id} ${JSON.stringify(scope)}`;
  const draft = useDraft(key, { ...scope, reason: '', until: minuteOf(Date.now() + HOUR_MS) });
  const { brokerIds, kinds, severities, reason, until } = draft.value;
  const end = timeOfInput(until);
  const silence = async () => {
    const filter = {
      ...(brokerIds.length > 0 && { brokerIds: [...brokerIds] }),
      ...(kinds.length > 0 && { kinds: [...kinds] }),
      ...(severities.length > 0 && { severities: [...severities] }),
    };
    const input = { projectId: project.id, until: end, reason, filter: Object.keys(filter).length > 0 ? filter : null };
    if ((await run({ input })) === null) return;
    draft.discard();
    notify(text('silentUntil', { time: timeOf(end) }));
    onDone();
  };
  return (
    <Confirmation
      title={text('silenceOf', { name: project.name })}
      action={end === '' ? text('begin') : text('beginUntil', { time: timeOf(end) })}
      isBusy={isBusy}
      isReady={reason.trim() !== '' && end !== ''}
      error={error}
      onConfirm={() => void silence()}
      onClose={onClose}
    >
      <div className="fields">
        <Restored draft={draft} />
        <p>{text('silenceMeans')}</p>
        <Field label={text('why')}>
          <input
            value={reason}
            required={true}
            maxLength={4_000}
            placeholder={text('whyExample')}
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
            autoFocus={true}
            onInput={({ currentTarget: { value } }) => draft.change({ reason: value })}
          />
        </Field>
        <TimeField
          label={text('until')}
          hint={text('untilHint')}
          required={true}
          value={until}
          onValue={(value) => draft.change({ until: value })}
        />
        <p className="presets">
          {ENDS.map(({ key: name, at }) => (
            <button key={name} type="button" onClick={() => draft.change({ until: minuteOf(at()) })}>
              {text(name)}
            </button>
          ))}
        </p>
        <ScopeFields projectId={project.id} scope={draft.value} onChange={draft.change} />
      </div>
    </Confirmation>
  );
}
