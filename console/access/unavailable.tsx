import type { RefusedError } from '../graph/refused.ts';
import { useTexts } from '../texts/texts.ts';
import { AsSent } from '../ui/as-sent.tsx';
import { CommandToCopy } from '../ui/command-to-copy.tsx';
import { Refusal } from '../ui/problem.tsx';
import { useCapabilityReason } from '../ui/use-capability-reason.tsx';
import { accessTexts } from './texts.ts';

interface Capability {
  readonly api: string;
  readonly provider: string;
  readonly reason: string | null;
  readonly reasonCode: string | null;
}

interface UnavailableProps {
  readonly error: RefusedError | null;
  readonly capabilities: readonly Capability[];
}

const CONFIGURATION = `plugin /usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so
plugin_opt_config_file /var/lib/mosquitto/dynamic-security.json`;

/** Why a broker has no access control that can be managed, and the remedy. */
export function Unavailable({ error, capabilities }: UnavailableProps) {
  const text = useTexts(accessTexts);
  const reasonOf = useCapabilityReason();
  const found = capabilities.find(({ api }) => api === 'dynamic-security');
  if (found?.provider !== 'NONE') return <Refusal error={error} />;
  return (
    <>
      <h2>{text('noDynamicSecurity')}</h2>
      <p className="note">{reasonOf(found) ?? <AsSent>{error?.message}</AsSent>}</p>
      <p>{text('howDynamicSecurity')}</p>
      <div className="access-commands">
        <CommandToCopy command="mosquitto_ctrl dynsec init /var/lib/mosquitto/dynamic-security.json admin" />
        <CommandToCopy command={CONFIGURATION} />
      </div>
    </>
  );
}
