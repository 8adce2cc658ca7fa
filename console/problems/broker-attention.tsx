import { Attention } from './attention.tsx';
import { useProjectProblems } from './project-problems.ts';

/** What is wrong now with a broker and its parts. */
export function BrokerAttention({ brokerId }: { readonly brokerId: string }) {
  const open = useProjectProblems();
  return <Attention open={open} isShown={({ broker }) => broker?.id === brokerId} isOnBroker={true} />;
}
