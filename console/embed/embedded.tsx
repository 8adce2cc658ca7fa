import { useEffect, useState } from 'react';
import { Router } from 'wouter';
import { OfBroker } from '../broker/of-broker.tsx';
import { type Service, ServiceContext } from '../graph/service.ts';
import { OfProject } from '../project/of-project.tsx';
import { useTexts } from '../texts/texts.ts';
import { NoticeBoard } from '../ui/notices.tsx';
import { PlaceContext } from '../ui/place.ts';
import type { Attribute, ElementOf } from './elements.tsx';
import { embedTexts } from './texts.ts';
import { connect } from './token-service.ts';
import { usePlace } from './use-place.ts';

interface EmbeddedProps {
  readonly of: ElementOf;
  readonly attribute: Attribute;
  /** Address of the service, with `/` at its end. `null`: it is none. */
  readonly service: string | null;
  readonly token: string | null;
}

/** The content of an element, or what its page has to change. */
export function Embedded({ of, attribute, service, token }: EmbeddedProps) {
  const text = useTexts(embedTexts);
  const places = Object.keys(of.screens);
  const wrong =
    service === null
      ? text('wrongService', { service: attribute('service') })
      : !places.some(attribute)
        ? text('missing', { name: places.join('”, “') })
        : token === null
          ? text('noToken')
          : null;
  if (service === null || token === null || wrong !== null) return <p role="alert">{wrong}</p>;
  return <Connected key={`${service} ${token}`} of={of} attribute={attribute} service={service} token={token} />;
}

interface ConnectedProps extends EmbeddedProps {
  readonly service: string;
  readonly token: string;
}

function Connected({ service: address, token, ...props }: ConnectedProps) {
  const text = useTexts(embedTexts);
  const [service, setService] = useState<Service | null>(null);
  const [isLost, setLost] = useState(false);
  const [isRefused, setRefused] = useState(false);
  useEffect(() => {
    if (isRefused) return;
    const { service: connected, release } = connect(address, token, () => setRefused(true));
    const stop = connected.live.onChange((isOpen) => setLost(!isOpen));
    connected.live.open();
    setService(connected);
    return () => {
      stop();
      release();
    };
  }, [isRefused]);
  if (isRefused) return <p role="alert">{text('refused')}</p>;
  if (service === null) return <p aria-busy="true">{text('loading')}</p>;
  return (
    <ServiceContext.Provider value={service}>
      {isLost && (
        <p className="note" role="status">
          {text('away', { service: address, origin: location.origin })}
        </p>
      )}
      <Shown {...props} service={address} />
    </ServiceContext.Provider>
  );
}

function Shown({ of, attribute, service }: Omit<ConnectedProps, 'token'>) {
  const { broker: OfOneBroker, project: OfOneProject } = of.screens;
  const broker = OfOneBroker && attribute('broker');
  const project = attribute('project');
  const query = new URLSearchParams(attribute('query') ?? '');
  for (const [name, key] of Object.entries(of.query ?? {})) {
    const value = attribute(name);
    if (value !== null) query.set(key, value);
  }
  const path = `${broker ? `/brokers/${broker}` : `/projects/${project}`}/${of.path}`;
  const { place, router } = usePlace(service, path, String(query));
  return (
    <PlaceContext.Provider value={place}>
      <Router key={`${path}?${query}`} {...router}>
        <NoticeBoard>
          {OfOneBroker && broker && <OfBroker id={broker}>{() => <OfOneBroker attribute={attribute} />}</OfBroker>}
          {OfOneProject && !broker && project && (
            <OfProject id={project}>{() => <OfOneProject attribute={attribute} />}</OfProject>
          )}
        </NoticeBoard>
      </Router>
    </PlaceContext.Provider>
  );
}
