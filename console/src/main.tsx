import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter } from "react-router";
import { Problem } from "./api/client.ts";
import { App } from "./app.tsx";
import { sessionEnded } from "./session.ts";
import { followTheme } from "./ui/theme.ts";
import "./style.css";

const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (error instanceof Problem && error.status === 401) sessionEnded();
    },
  }),
  defaultOptions: {
    queries: {
      // The event streams say when something changed; what they miss while a page was away is read again on its return.
      staleTime: 30_000,
      retry: (failures, error) => !(error instanceof Problem) && failures < 3,
    },
  },
});

followTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <BrowserRouter>
        <App />
      </BrowserRouter>
    </QueryClientProvider>
  </StrictMode>,
);
