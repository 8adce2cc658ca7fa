import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { useLocation } from 'wouter';

const Notices = createContext<(notice: ReactNode) => void>(() => undefined);

/** How long a notice is shown, in milliseconds. */
const SHOWN_MS = 6_000;
const FRESH_MS = 1_000;

/** Shows short messages about what was done, which screen readers announce. */
export function NoticeBoard({ children }: { readonly children: ReactNode }) {
  const [shown, setShown] = useState<readonly { readonly notice: ReactNode; readonly key: number }[]>([]);
  const notify = (notice: ReactNode) => {
    const key = performance.now();
    setShown((before) => [...before.slice(-2), { notice, key }]);
    setTimeout(() => setShown((before) => before.filter((one) => one.key !== key)), SHOWN_MS);
  };
  const [address] = useLocation();
  // What was done just before another screen is opened is still news there.
  useEffect(() => setShown((before) => before.filter(({ key }) => performance.now() - key < FRESH_MS)), [address]);
  return (
    <Notices.Provider value={notify}>
      {children}
      <div className="notices" aria-live="polite">
        {shown.map(({ notice, key }) => (
          <p key={key}>{notice}</p>
        ))}
      </div>
    </Notices.Provider>
  );
}

/** The function that shows a message for some seconds. */
export const useNotices = (): ((notice: ReactNode) => void) => useContext(Notices);
