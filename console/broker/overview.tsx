import { useTexts } from '../texts/texts.ts';
import { useBroker } from './broker-context.ts';
import { brokerTexts } from './texts.ts';

/** What a broker reports about itself. */
export function Overview() {
  const text = useTexts(brokerTexts);
  const { url } = useBroker();
  return (
    <dl>
      <dt>{text('address')}</dt>
      <dd>{url ?? '–'}</dd>
    </dl>
  );
}
