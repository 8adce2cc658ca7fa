import { CircleAlert, Ellipsis, Info, type LucideIcon, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Ago } from '../ui/ago.tsx';
import { Menu } from '../ui/menu.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Acknowledge } from './acknowledge.tsx';
import { type ShownProblem, UNACKNOWLEDGE } from './operations.ts';
import { problemAddress } from './problem-address.ts';
import { Silence } from './silence.tsx';
import { problemTexts } from './texts.ts';
import { useProblemTitle } from './titles.ts';

const ICONS: Readonly<Record<ShownProblem['severity'], LucideIcon>> = {
  CRITICAL: CircleAlert,
  WARNING: TriangleAlert,
  NOTICE: Info,
};

interface ProblemItemProps {
  readonly problem: ShownProblem;
  /** Whether the broker is clear from the place. */
  readonly isOnBroker: boolean;
  readonly onChanged: () => void;
}

/** One problem: what, where and since when, what would help, and what a person does about it. */
export function ProblemItem({ problem, isOnBroker, onChanged }: ProblemItemProps) {
  const text = useTexts(problemTexts);
  const titleOf = useProblemTitle();
  const { run, error } = useMutation(UNACKNOWLEDGE);
  const [open, setOpen] = useState<'acknowledge' | 'silence' | null>(null);
  const { id, severity, detail, whatWouldHelp, subjectName, broker, project, openedAt, count, acknowledgement } =
    problem;
  const Icon = ICONS[severity];
  const address = problemAddress(problem);
  const done = () => {
    setOpen(null);
    onChanged();
  };
  const take = async () => {
    if ((await run({ input: { problemId: id } })) !== null) onChanged();
  };
  const place = isOnBroker ? null : (broker?.name ?? project?.name ?? text('service'));
  return (
    <li className={acknowledgement ? `${severity} acknowledged` : severity}>
      <Icon aria-label={text(severity)} role="img" />
      <div>
        <p>
          <strong>{address === null ? titleOf(problem) : <Link href={address}>{titleOf(problem)}</Link>}</strong>
          {place !== null && <span className="quiet"> {place}</span>}
          {subjectName !== place && subjectName !== broker?.name && <span className="quiet"> · {subjectName}</span>}
        </p>
        <p>{detail}</p>
        <p className="quiet">{text('help', { help: whatWouldHelp })}</p>
        <p className="quiet">
          {text('began')} <Ago at={openedAt} />
          {count > 1 && ` · ${text('times', { count })}`}
          {acknowledgement && ` · ${text('takenBy', { name: acknowledgement.by })}`}
          {acknowledgement?.note && ` · ${acknowledgement.note}`}
        </p>
        <Refusal error={error} />
      </div>
      <Menu
        label={text('actionsOf', { title: titleOf(problem) })}
        className="icon"
        button={<Ellipsis aria-hidden="true" />}
      >
        {acknowledgement ? (
          <button type="button" onClick={() => void take()}>
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
      </Menu>
      {open === 'acknowledge' && <Acknowledge problem={problem} onDone={done} onClose={() => setOpen(null)} />}
      {open === 'silence' && project && (
        <Silence problem={problem} projectId={project.id} onDone={done} onClose={() => setOpen(null)} />
      )}
    </li>
  );
}
