import { Check, type LucideIcon, Network, RadioTower, UserPlus, X } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import { giveAccessAddress } from '../access/addresses.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { useStored } from '../ui/view-store.ts';
import type { Project } from './operations.ts';
import { fleetTexts } from './texts.ts';

const FACTS = graphql(`query FirstSteps($id: ID!) {
  project(id: $id) {
    own: brokers(first: 1, filter: { type: CLOUD }) { nodes { id } }
    others: brokers(first: 0, filter: { type: SELF_HOSTED }) { totalCount }
    clientEvents(first: 1, filter: { kinds: [CONNECTED] }) { nodes { at } }
    members(first: 2) { nodes { user { email } } }
  }
}`);

const EVERY_MS = 5_000;

/**
 * What makes a new installation useful, until all of it is done or the person hides it. What is done is read from the
 * graph. Without a broker it has explanations; with one, it is a row.
 */
export function FirstSteps({ project }: { readonly project: Project }) {
  const [choice, choose] = useStored('first-steps');
  return choice === null ? <Steps project={project} onHide={() => choose?.('hidden')} /> : null;
}

interface StepsProps {
  readonly project: Project;
  readonly onHide: () => void;
}

function Steps({ project, onHide }: StepsProps) {
  const text = useTexts(fleetTexts);
  const heading = useId();
  const { email } = useViewer();
  const { set } = useAddressValues();
  const { data } = useQuery(FACTS, { id: project.id }, EVERY_MS);
  const facts = data?.project;
  // Without one of the facts nothing is claimed.
  if (!facts?.members) return null;
  const [own] = facts.own.nodes;
  const hasDevice = facts.clientEvents.nodes.length > 0;
  const hasBroker = facts.others.totalCount > 0;
  const hasColleague = facts.members.nodes.some(({ user }) => user.email !== email);
  if (hasDevice && hasBroker && hasColleague) return null;
  const isRow = own !== undefined || hasBroker;
  return (
    <section className={isRow ? 'first-steps card' : 'first-steps'} aria-labelledby={heading}>
      <h2 id={heading}>{text('firstSteps')}</h2>
      <ol>
        <Step
          icon={RadioTower}
          isDone={hasDevice}
          title={text('connectDevice')}
          what={isRow ? null : text('connectDeviceLater')}
        >
          {own && <Link href={giveAccessAddress(own.id)}>{text('connectDevice')}</Link>}
        </Step>
        <Step
          icon={Network}
          isDone={hasBroker}
          title={text('addMosquitto')}
          what={isRow ? null : text('addMosquittoText')}
        >
          <button type="button" className="link" onClick={() => set({ new: project.id })}>
            {text('addMosquitto')}
          </button>
        </Step>
        <Step
          icon={UserPlus}
          isDone={hasColleague}
          title={text('inviteColleague')}
          what={isRow ? null : text('inviteColleagueText')}
        >
          <Link href={`/projects/${project.id}/members`}>{text('inviteColleague')}</Link>
        </Step>
      </ol>
      <button type="button" className="icon" title={text('hideSteps')} aria-label={text('hideSteps')} onClick={onHide}>
        <X aria-hidden="true" />
      </button>
    </section>
  );
}

interface StepProps {
  readonly icon: LucideIcon;
  readonly title: string;
  /** Why and how. `null`: there is no room for it. */
  readonly what: string | null;
  readonly isDone: boolean;
  /** Leads to it, as long as it is possible and not done. */
  readonly children: ReactNode;
}

function Step({ icon: Icon, title, what, isDone, children }: StepProps) {
  const text = useTexts();
  return (
    <li className={isDone ? 'done' : undefined}>
      {isDone ? <Check aria-label={text('done')} role="img" /> : <Icon aria-hidden="true" />}
      <div>
        {isDone || !children ? title : children}
        {what !== null && <p className="quiet">{what}</p>}
      </div>
    </li>
  );
}
