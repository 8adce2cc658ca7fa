import type { ComponentType } from 'react';
import { useAccessRevision } from '../access/access-context.ts';
import { useBroker } from '../broker/broker-context.ts';
import { ClientList } from '../clients/client-list.tsx';
import { BrokerEvents } from '../events/broker-events.tsx';
import { ProjectEvents } from '../events/project-events.tsx';
import { Explain } from '../explain/explain.tsx';
import { BrokerCharts, CHARTED } from '../overview/broker-charts.tsx';
import { useOpenProblems } from '../problems/open-problems.ts';
import { ProjectProblems } from '../problems/project-problems.ts';
import { useProject } from '../project/project-context.ts';
import { Problems } from '../project-problems/problems.tsx';
import { useTexts } from '../texts/texts.ts';
import { embedTexts } from './texts.ts';

/** Reads an attribute of an element. `null`: it is not set. */
export type Attribute = (name: string) => string | null;

type Screen = ComponentType<{ readonly attribute: Attribute }>;

/** An element that shows a screen of a broker or of a project. */
export interface ElementOf {
  /** The last part of the address of the screen. */
  readonly path: string;
  /** By the attribute that names the broker or the project. */
  readonly screens: { readonly broker?: Screen; readonly project?: Screen };
  /** Attributes that are values of the address, with their names there. */
  readonly query?: Readonly<Record<string, string>>;
  /** Further attributes. */
  readonly others?: readonly string[];
}

export const ELEMENTS: Readonly<Record<string, ElementOf>> = {
  'brokergraph-clients': { path: 'clients', screens: { broker: ClientList } },
  'brokergraph-problems': { path: 'problems', screens: { project: OpenProblems } },
  'brokergraph-events': {
    path: 'events',
    screens: { broker: BrokerEvents, project: ProjectEvents },
    query: { client: 'client' },
  },
  'brokergraph-explain': {
    path: 'why',
    screens: { broker: Explanation },
    query: { account: 'account', client: 'clientId', action: 'action', topic: 'topic' },
  },
  'brokergraph-chart': {
    path: 'overview',
    screens: { broker: MetricChart },
    query: { range: 'range' },
    others: ['metric'],
  },
};

function OpenProblems() {
  const open = useOpenProblems([useProject().id]);
  return (
    <ProjectProblems.Provider value={open}>
      <Problems />
    </ProjectProblems.Provider>
  );
}

function Explanation() {
  const { revision } = useAccessRevision(useBroker().id);
  return <Explain revision={revision} />;
}

/** `messagesIn` is `messages-in` in the page. */
const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function MetricChart({ attribute }: { readonly attribute: Attribute }) {
  const text = useTexts(embedTexts);
  const broker = useBroker();
  const wanted = attribute('metric') ?? '';
  const metric = CHARTED.find((known) => kebab(known) === wanted);
  if (metric === undefined)
    return (
      <p role="alert">{text('noMetric', { metric: wanted, metrics: CHARTED.map((name) => kebab(name)).join(', ') })}</p>
    );
  return <BrokerCharts broker={broker} startedAt={null} metric={metric} />;
}
