import { Link, useParams } from 'wouter';
import { useAccessRevision } from '../access/access-context.ts';
import { useBroker } from '../broker/broker-context.ts';
import { useTexts } from '../texts/texts.ts';
import { LiveMark } from '../ui/live-mark.tsx';
import { Explain } from './explain.tsx';
import { whyTexts } from './texts.ts';
import { useWhy } from './use-why.ts';
import { WhoCan } from './who-can.tsx';
import './style.css';

/** Why a client may or may not do something, and who may. */
export function Why() {
  const text = useTexts(whyTexts);
  const { id } = useBroker();
  const { inputs } = useWhy();
  const { '*': rest = '' } = useParams<{ '*': string }>();
  const { revision, isLive } = useAccessRevision(id);
  const isWho = rest === 'who-can';
  const query = new URLSearchParams({ action: inputs.action, topic: inputs.topic });
  return (
    <>
      <nav className="tabs" aria-label={text('whatToAsk')}>
        <Link href={`/brokers/${id}/why?${query}`} aria-current={isWho ? undefined : 'page'}>
          {text('testOne')}
        </Link>
        <Link href={`/brokers/${id}/why/who-can?${query}`} aria-current={isWho ? 'page' : undefined}>
          {text('whoCan')}
        </Link>
        <LiveMark isLive={isLive} />
      </nav>
      {isWho ? <WhoCan revision={revision} /> : <Explain revision={revision} />}
    </>
  );
}
