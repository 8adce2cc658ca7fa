import { Check, type LucideIcon, Network, RadioTower, UserPlus } from 'lucide-react';
import { type ReactNode, useEffect, useId } from 'react';
import { Link } from 'wouter';
import { giveAccessAddress } from '../access/addresses.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
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

interface FirstStepsProps {
  readonly project: Project;
  /** It is known whether there are steps. */
  readonly onKnown: () => void;
}

/** What makes a new installation useful, until all of it is done. What is done is read from the graph. */
export function FirstSteps({ project, onKnown }: FirstStepsProps) {
  const text = useTexts(fleetTexts);
  const heading = useId();
  const { email } = useViewer();
  const { set } = useAddressValues();
  const { data, error } = useQuery(FACTS, { id: project.id }, EVERY_MS);
  const isKnown = data !== null || error !== null;
  useEffect(() => {
    if (isKnown) onKnown();
  }, [isKnown]);
  const facts = data?.project;
  // Without one of the facts nothing is claimed.
  if (!facts?.members) return null;
  const [own] = facts.own.nodes;
  const hasDevice = facts.clientEvents.nodes.length > 0;
  const hasBroker = facts.others.totalCount > 0;
  const hasColleague = facts.members.nodes.some(({ user }) => user.email !== email);
  if (hasDevice && hasBroker && hasColleague) return null;
  return (
    <section className="first-steps" aria-labelledby={heading}>
      <h2 id={heading}>{text('firstSteps')}</h2>
      <ol>
        <Step
          icon={RadioTower}
          isDone={hasDevice}
          title={text('connectDevice')}
          what={text(own ? 'connectDeviceText' : 'connectDeviceLater')}
        >
          {own && <Link href={giveAccessAddress(own.id)}>{text('giveAccess')}</Link>}
        </Step>
        <Step icon={Network} isDone={hasBroker} title={text('addMosquitto')} what={text('addMosquittoText')}>
          <button type="button" className="primary" onClick={() => set({ new: project.id })}>
            {text('addMosquitto')}
          </button>
        </Step>
        <Step icon={UserPlus} isDone={hasColleague} title={text('inviteColleague')} what={text('inviteColleagueText')}>
          <Link href={`/projects/${project.id}/members`}>{text('toMembers')}</Link>
        </Step>
      </ol>
    </section>
  );
}

interface StepProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly what: string;
  readonly isDone: boolean;
  /** How to do it. */
  readonly children: ReactNode;
}

function Step({ icon: Icon, title, what, isDone, children }: StepProps) {
  const text = useTexts(fleetTexts);
  return (
    <li className={isDone ? 'card done' : 'card'}>
      {isDone ? <Check aria-hidden="true" /> : <Icon aria-hidden="true" />}
      <div>
        <h3>
          {title} {isDone && <small>{text('stepDone')}</small>}
        </h3>
        <p>{what}</p>
        {!isDone && children}
      </div>
    </li>
  );
}
