import { BellOff, CircleAlert, Info, type LucideIcon, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Time } from '../ui/time.tsx';
import { useDurations } from '../ui/use-durations.ts';
import { Acknowledge } from './acknowledge.tsx';
import { BeginSilence } from './begin-silence.tsx';
import { type ShownProblem, UNACKNOWLEDGE } from './operations.ts';
import { problemAddress } from './problem-address.ts';
import type { Part } from './problem-words.ts';
import { problemTexts } from './texts.ts';
import { useProblemWords } from './use-problem-words.ts';

const ICONS: Readonly<Record<ShownProblem['severity'], LucideIcon>> = {
  CRITICAL: CircleAlert,
  WARNING: TriangleAlert,
  NOTICE: Info,
};

interface ProblemItemProps {
  readonly problem: ShownProblem;
  /** What is clear from the place, so that it is not repeated. Default: nothing. */
  readonly within: Within;
}

export type Within = 'BROKER' | 'PROJECT' | null;

/** One problem: what, where and since when, what would help, and what a person does about it. */
export function ProblemItem({ problem, within }: ProblemItemProps) {
  const text = useTexts(problemTexts);
  const { title, detail, help } = useProblemWords()(problem);
  const { severity, subjectName, brokerName, project, acknowledgement, isSilenced, closedAt } = problem;
  const Icon = ICONS[severity];
  const address = problemAddress(problem);
  const ofProject = within === null ? (project?.name ?? text('service')) : null;
  const onBroker = problem.broker?.name ?? brokerName;
  const places = [within === 'BROKER' ? null : (onBroker ?? ofProject), subjectName];
  const shown = [...new Set(places)].filter((place) => place !== null && !(within === 'BROKER' && place === onBroker));
  const isQuiet = acknowledgement !== null || isSilenced || closedAt !== null;
  return (
    <li className={isQuiet ? `${severity} looked-after` : severity}>
      <Icon aria-label={text(severity)} role="img" />
      <div>
        <p>
          <strong>{address === null ? title : <Link href={address}>{title}</Link>}</strong>{' '}
          <span className="quiet">{shown.join(' · ')}</span>
          {isSilenced && closedAt === null && (
            <span className="tag">
              <BellOff aria-hidden="true" /> {text('isSilenced')}
            </span>
          )}
        </p>
        <p>
          <Parts parts={detail} />
        </p>
        {closedAt === null && !textOf(detail).includes(textOf(help)) && (
          <p className="quiet">
            {text('help')} <Parts parts={help} />
          </p>
        )}
      </div>
      <Facts problem={problem} />
      {closedAt === null && <Actions problem={problem} title={title} />}
    </li>
  );
}

const textOf = (parts: readonly Part[]) => parts.map((part) => part.text).join('');

const Parts = ({ parts }: { readonly parts: readonly Part[] }) =>
  parts.map(({ text, isAsSent }) => (isAsSent ? <AsSent key={text}>{text}</AsSent> : text));

function Facts({ problem: { openedAt, closedAt, count, acknowledgement } }: { readonly problem: ShownProblem }) {
  const text = useTexts(problemTexts);
  const durationText = useDurations();
  return (
    <p className="problem-facts">
      {closedAt === null ? (
        <>
          {text('began')} <Time isRelative={true} at={openedAt} />
        </>
      ) : (
        <>
          <Time at={openedAt} /> – <Time at={closedAt} />
          {` · ${text('lasted', { time: durationText((Date.parse(closedAt) - Date.parse(openedAt)) / 1_000) })}`}
        </>
      )}
      {count > 1 && ` · ${text('times', { count })}`}
      {acknowledgement && ` · ${text('takenBy', { name: acknowledgement.by })}`}
      {acknowledgement?.note && ` · ${acknowledgement.note}`}
    </p>
  );
}

/** What the person may do about an open problem. */
function Actions({ problem, title }: { readonly problem: ShownProblem; readonly title: string }) {
  const text = useTexts(problemTexts);
  const { run, error } = useMutation(UNACKNOWLEDGE);
  const [open, setOpen] = useState<'acknowledge' | 'silence' | null>(null);
  const { id, broker, project, acknowledgement } = problem;
  // Only root administrators see problems of the service.
  if (project?.viewerCanSilenceProblems === false) return null;
  const close = () => setOpen(null);
  return (
    <>
      <RowMenu name={title}>
        {acknowledgement ? (
          <button type="button" onClick={() => void run({ input: { problemId: id } })}>
            {text('unacknowledge')}
          </button>
        ) : (
          <button type="button" onClick={() => setOpen('acknowledge')}>
            {text('acknowledge')}
          </button>
        )}
        {project && (
          <button type="button" onClick={() => setOpen('silence')}>
            {text('silence')}
          </button>
        )}
      </RowMenu>
      <Refusal error={error} />
      {open === 'acknowledge' && <Acknowledge problem={problem} onDone={close} onClose={close} />}
      {open === 'silence' && project && (
        <BeginSilence
          project={project}
          scope={{ brokerIds: broker ? [broker.id] : [], kinds: broker ? [] : [problem.kind], severities: [] }}
          onDone={close}
          onClose={close}
        />
      )}
    </>
  );
}
