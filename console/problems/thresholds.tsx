import { type FormEvent, useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Refusal } from '../ui/problem.tsx';
import { DEFAULTS, type ThresholdName, thresholdNames } from './threshold-defaults.ts';
import { thresholdTexts } from './threshold-texts.ts';

const THRESHOLDS = graphql(`query ProblemThresholds($id: ID!) {
  project(id: $id) {
    viewerCanSetProblemThresholds
    problemThresholds {
      bridgeQueuedMessages
      streamFailedPercent
      refusalsPerMinute
      clientMessagesPerSecond
      droppedPerMinute
      certificateDays
      tokenDays
    }
  }
}`);
const SET = graphql(`mutation SetProblemThresholds($input: SetProblemThresholdsInput!) {
  setProblemThresholds(input: $input) { project { id } }
}`);

type Thresholds = NonNullable<ResultOf<typeof THRESHOLDS>['project']>['problemThresholds'];

/** Above which values facts are problems of a project, and how long the service stores what happened. */
export function ProblemThresholds({ projectId }: { readonly projectId: string }) {
  const text = useTexts(thresholdTexts);
  const { data, error, renew } = useQuery(THRESHOLDS, { id: projectId });
  const found = data?.project;
  return (
    <section>
      <h2>{text('thresholds')}</h2>
      <p className="quiet">{text('thresholdsMean')}</p>
      {found ? (
        <ThresholdForm
          key={JSON.stringify(found.problemThresholds)}
          projectId={projectId}
          before={found.problemThresholds}
          canChange={found.viewerCanSetProblemThresholds}
          onSaved={renew}
        />
      ) : (
        <Refusal error={error} />
      )}
      <h2>{text('history')}</h2>
      <p className="quiet">{text('historyMeans')}</p>
      <dl>
        {(['HISTORY_DAYS', 'HISTORY_MAX_MB', 'PROBLEM_RETENTION_DAYS', 'AUDIT_RETENTION_DAYS'] as const).map((name) => [
          <dt key={`${name} term`}>
            <code>{name}</code>
          </dt>,
          <dd key={name}>{text(name)}</dd>,
        ])}
      </dl>
    </section>
  );
}

interface ThresholdFormProps {
  readonly projectId: string;
  readonly before: Thresholds;
  readonly canChange: boolean;
  readonly onSaved: () => void;
}

function ThresholdForm({ projectId, before, canChange, onSaved }: ThresholdFormProps) {
  const text = useTexts(thresholdTexts);
  const numberText = useNumbers();
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(SET);
  const [values, setValues] = useState<Readonly<Record<ThresholdName, string>>>(() => textsOf(before));
  /** An empty field sets the default again. */
  const changes = thresholdNames.flatMap((name) => {
    const value = values[name] === '' ? null : Number(values[name]);
    return (value ?? DEFAULTS[name].fallback) === before[name] ? [] : [[name, value] as const];
  });
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if ((await run({ input: { projectId, ...Object.fromEntries(changes) } })) === null) return;
    notify(text('thresholdsSaved'));
    onSaved();
  };
  return (
    <form className="thresholds" onSubmit={(event) => void save(event)}>
      {thresholdNames.map((name) => {
        const { fallback, min, max } = DEFAULTS[name];
        const bounds = { min: numberText(min), max: numberText(max), fallback: numberText(fallback) };
        return (
          <Field key={name} label={text(name)} hint={text('bounds', bounds)}>
            <input
              type="number"
              min={min}
              max={max}
              placeholder={String(fallback)}
              readOnly={!canChange}
              value={values[name]}
              onInput={({ currentTarget: { value } }) => setValues((last) => ({ ...last, [name]: value }))}
            />
          </Field>
        );
      })}
      <Refusal error={error} />
      {canChange && (
        <p>
          <button type="submit" disabled={isBusy || changes.length === 0}>
            {text('saveThresholds')}
          </button>
        </p>
      )}
    </form>
  );
}

const textsOf = (thresholds: Thresholds) =>
  Object.fromEntries(thresholdNames.map((name) => [name, String(thresholds[name])])) as Record<ThresholdName, string>;
