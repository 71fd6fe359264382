# The console: what stands on every page.

motto = De a uno, por turno, sin perder nada
skip = Ir al contenido
nav = Secciones
nav-overview = Resumen
nav-tasks = Tareas
nav-leases = Bloqueos
nav-queues = Colas
nav-sync = Sincronización
nav-audit = Auditoría
nav-admin = Administración
sign-out = Salir
sign-in = Iniciar sesión
theme-now = Colores: { $theme ->
        [dark] oscuros
        [light] claros
       *[auto] como el equipo
    }
theme-next = { $theme ->
        [dark] Oscuro
        [light] Claro
       *[auto] Auto
    }
live-updated = Actualizado { $ago }
live-lost = Sin conexión desde { $since }. { $updated }. Se reintenta solo.
ago-now = ahora
ago-s = hace { $n } s
ago-m = hace { $n } min
ago-h = hace { $n } h
ago-d = hace { $n } d
in-s = en { $n } s
in-m = en { $n } min
in-h = en { $n } h
in-d = en { $n } d
copied = Copiado
copy = Copiar
filter = Filtrar
pages = Páginas
page-first = ‹ Al principio
page-next = Siguientes ›
dismiss = Volver
reason = Motivo
reason-hint = Queda en la auditoría, con su nombre.
go-home = Ir al resumen
request-id = Si pide ayuda, dé este número:

# The way in.

way-in-title = { $kind ->
        [setup] Primer administrador
       *[sign_in] Iniciar sesión
    }
way-in-lead = { $kind ->
        [setup] Todavía no hay nadie. Usted será quien agregue a los demás.
       *[sign_in] Entre con su usuario para ver y hacer su trabajo.
    }
way-in-user = { $kind ->
        [setup] Su usuario
       *[sign_in] Usuario
    }
way-in-password = { $kind ->
        [setup] Una contraseña nueva
       *[sign_in] Contraseña
    }
way-in-hint = { $kind ->
        [setup] Al menos 8 caracteres.
       *[sign_in] ¿No la recuerda? Pida a un administrador un enlace para entrar.
    }
way-in-button = { $kind ->
        [setup] Crear y entrar
       *[sign_in] Entrar
    }

# States: the one word for each, wherever it is shown.

state-pending = En espera
state-in_process = En proceso
state-processed = Procesado
state-error = Con error
state-exhausted = Agotado
state-cancelled = Cancelado
state-free = Libre
state-locked = Bloqueada
state-offered = Ofrecida
state-paused = En pausa
state-active = Activa

# Locks.

fence = Fence
instance = Instancia
filters-clear = Quitar los filtros
leases-lead = Quién tiene qué, desde cuándo y hasta cuándo.
leases-prefix = Recurso que empieza con
leases-resource = Recurso
leases-holder = Quién
leases-since = Desde
leases-until = Hasta
leases-beat = Último latido
leases-worked = Último trabajo
leases-expires = Vence
leases-waiting = Esperan
leases-asked = { $count ->
        [one] 1 persona la pide
       *[other] { $count } personas la piden
    }
leases-empty = Nadie tiene nada bloqueado
leases-empty-what = Un bloqueo aparece aquí en cuanto una persona procesa una tarea o un programa toma un recurso. Pruébelo:
leases-held-by = Bloqueada por { $name } desde
leases-request = { $name } pide que la libere,
leases-offered-to = Está libre y se ofrece primero a { $name }; la oferta termina
leases-is-free = Libre. Nadie la tiene.
leases-line = Esperan su turno
leases-history = Historial
leases-history-empty = Todavía nadie la tuvo
leases-ended = Cómo terminó
leases-force-release = Liberar
leases-force-claim = Tomar para mí
leases-force-release-title = ¿Liberar lo que tiene { $name }?
leases-force-claim-title = ¿Tomar lo que tiene { $name }?
leases-force-release-what = Pierde el bloqueo en este momento y se entera del motivo. Lo que ya se aplicó queda aplicado.
leases-force-claim-what = Pasa a usted en este momento, antes que a quienes esperan, y quien lo tenía se entera del motivo.
leases-force-released = { $resource } quedó libre
leases-force-claimed = { $resource } es suyo ahora
cause-no_heartbeat = Venció: dejó de renovarse
cause-idle = Venció por inactividad
cause-rolling_timeout = Venció: pasó demasiado tiempo sin trabajo
cause-override = Un administrador intervino
cause-user_disabled = La persona fue deshabilitada
cause-released = La liberó
