import { type ReactNode, type ToggleEvent, useEffect, useId, useRef } from 'react';
import './menu.css';

interface MenuProps {
  /** For screen readers, if the button shows only an icon. */
  readonly label?: string | undefined;
  readonly button: ReactNode;
  readonly className?: string | undefined;
  /** Shown when the button is pointed at. */
  readonly title?: string;
  readonly isInGrid?: boolean;
  /** Links and buttons. A click on one closes the menu, unless it is in an element with `data-stays`. */
  readonly children: ReactNode;
  /** Called before the menu is shown and placed, and before it is hidden. */
  readonly onOpen?: () => void;
}

/** A button that opens a list of links and buttons next to it. Escape and a click elsewhere close it. */
export function Menu({ label, button, className, title, isInGrid = false, children, onOpen }: MenuProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const close = ({ target }: Event) => {
      const isChoice = target instanceof Element && target.closest('a, button') && !target.closest('[data-stays]');
      if (isChoice) menu.current?.hidePopover();
    };
    menu.current?.addEventListener('click', close);
    return () => menu.current?.removeEventListener('click', close);
  }, []);
  const place = (event: ToggleEvent<HTMLDivElement>) => {
    const shown = event.currentTarget;
    if (event.newState !== 'open' || opener.current === null) return;
    const { bottom, left, right } = opener.current.getBoundingClientRect();
    const isLeft = left + shown.offsetWidth <= innerWidth;
    shown.style.top = `${Math.max(0, Math.min(bottom + GAP, innerHeight - shown.offsetHeight))}px`;
    shown.style.left = `${Math.max(0, isLeft ? left : right - shown.offsetWidth)}px`;
  };
  return (
    <>
      <button
        ref={opener}
        type="button"
        className={className}
        title={title}
        aria-label={label}
        tabIndex={isInGrid ? -1 : undefined}
        popoverTarget={id}
      >
        {button}
      </button>
      <div ref={menu} id={id} className="menu" popover="auto" onBeforeToggle={onOpen} onToggle={place}>
        {children}
      </div>
    </>
  );
}

/** Between the button and its menu, in pixels. */
const GAP = 4;
