import { Cable } from 'lucide-react';
import { useSearchParams } from 'wouter';
import { useBroker } from '../broker/broker-context.ts';
import { addressOf } from '../graph/addresses.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { BRIDGES } from './bridge-graph.ts';
import { BridgeSection } from './bridge-section.tsx';
import { ConnectionForm } from './connection-form.tsx';
import { bridgeTexts } from './texts.ts';
import './style.css';

/** How often the list of bridges is read; the status of each is live. */
const LIST_MS = 10_000;

/** The bridges of a broker with their connections, which can be added, changed and removed. */
export function Bridges() {
  const text = useTexts(bridgeTexts);
  const broker = useBroker();
  const [address, setAddress] = useSearchParams();
  const { data, error } = useQuery(BRIDGES, { id: broker.id }, LIST_MS);
  const bridges = data?.broker?.bridges;
  if (!bridges) return <Problem error={error} />;
  const edited = bridges.find(({ key, viewerCanUpdate }) => viewerCanUpdate && key === address.get('edit'));
  if (edited) {
    const name = address.get('connection');
    return (
      <ConnectionForm
        key={`${edited.key} ${name}`}
        brokerId={broker.id}
        bridge={edited}
        name={name}
        onClose={() => setAddress({})}
      />
    );
  }
  return (
    <>
      <CopyAs document={BRIDGES} variables={{ id: broker.id }} />
      {bridges.length === 0 && (
        <Empty icon={Cable} title={text('noBridges')}>
          <CommandToCopy command={listCommand(broker.project.id, broker.id)} />
        </Empty>
      )}
      {bridges.map((bridge) => (
        <BridgeSection
          key={bridge.id}
          brokerId={broker.id}
          bridge={bridge}
          onEdit={(name) => setAddress(name === null ? { edit: bridge.key } : { edit: bridge.key, connection: name })}
        />
      ))}
    </>
  );
}

const listCommand = (projectId: string, brokerId: string): string =>
  `curl ${addressOf(`api/projects/${projectId}/brokers/${brokerId}/bridges`)} -H "Authorization: Bearer $TOKEN"`;
