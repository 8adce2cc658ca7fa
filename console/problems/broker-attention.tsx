import { Attention } from './attention.tsx';
import { useOpenProblems } from './open-problems.ts';

interface BrokerAttentionProps {
  readonly brokerId: string;
  readonly projectId: string;
}

/** What is wrong now with a broker and its parts. */
export function BrokerAttention({ brokerId, projectId }: BrokerAttentionProps) {
  const open = useOpenProblems([projectId]);
  return <Attention open={open} isShown={({ broker }) => broker?.id === brokerId} isOnBroker={true} />;
}
