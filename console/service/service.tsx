import { useViewer } from '../session/viewer.ts';
import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { Processes } from './processes.tsx';
import { RotateSecrets } from './rotate-secrets.tsx';
import { serviceTexts } from './texts.ts';

/** The processes and the secrets of the service, for root administrators. */
export function Service() {
  const text = useTexts(serviceTexts);
  const { isRootAdmin } = useViewer();
  if (!isRootAdmin) return <p role="alert">{text('forRootAdministrators')}</p>;
  return (
    <>
      <header className="screen">
        <PageHeading>{text('service')}</PageHeading>
      </header>
      <Processes />
      <RotateSecrets />
    </>
  );
}
