import { ChevronsUpDown } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Menu } from '../ui/menu.tsx';
import { Problem } from '../ui/problem.tsx';
import type { Broker } from './broker-context.ts';
import { brokerTexts } from './texts.ts';

const OTHERS = graphql(`query BrokersToSwitchTo($id: ID!) {
  project(id: $id) { brokers(first: 10000) { nodes { id name } } }
}`);

interface SwitcherProps {
  readonly broker: Pick<Broker, 'id' | 'project'>;
  /** The screen that is shown, in the address. `''`: the first one. */
  readonly screen: string;
}

/** The same screen of another broker of the project. */
export function BrokerSwitcher({ broker, screen }: SwitcherProps) {
  const text = useTexts(brokerTexts);
  const [isOpen, setOpen] = useState(false);
  return (
    <Menu
      label={text('otherBroker')}
      className="icon"
      button={<ChevronsUpDown aria-hidden="true" />}
      onOpen={() => setOpen(true)}
    >
      {isOpen && <Brokers broker={broker} screen={screen} />}
    </Menu>
  );
}

function Brokers({ broker: { id: shown, project }, screen }: SwitcherProps) {
  const { data, error } = useQuery(OTHERS, { id: project.id });
  if (!data?.project) return <Problem error={error} />;
  return data.project.brokers.nodes.map(({ id, name }) => (
    <Link
      key={id}
      href={screen === '' ? `/brokers/${id}` : `/brokers/${id}/${screen}`}
      aria-current={id === shown ? 'page' : undefined}
    >
      {name}
    </Link>
  ));
}
