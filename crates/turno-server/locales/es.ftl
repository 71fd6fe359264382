# Problems: what an error says. The value is the detail, `.title` the title; codes are in http/problem.rs.

problem-bad_body = El cuerpo de la petición no es el JSON que se espera: { $cause }
    .title = El cuerpo no se entiende
problem-bad_field = { $fault ->
        [missing] Falta el campo { $field }; agréguelo
        [unknown] El campo { $field } no se conoce; revise su nombre o quítelo
        [twice] El número de serie { $serial } está dos veces
       *[other] El campo { $field } no es válido: { $cause }
    }
    .title = Un campo no es válido
problem-bad_query = Un parámetro de la dirección no es válido: { $cause }
    .title = Un parámetro no es válido
problem-bad_header = La cabecera { $header } no es válida
    .title = Una cabecera no es válida
problem-invalid = No se puede pedir esto: { $cause }
    .title = La petición no es válida
problem-instance_required = Diga en instance cuál de sus procesos lo retiene; con el token de una máquina siempre hace falta
    .title = Falta la instancia
problem-ttl_out_of_bounds = { $field } debe estar entre { $min } y { $max }
    .title = El plazo está fuera de los límites
problem-idle_required = Este bloqueo tiene guarda de inactividad; diga en idle_ms cuánto hace que la persona no hace nada
    .title = Falta el tiempo de inactividad
problem-weak_password = { $why ->
    [common] Esta contraseña es fácil de adivinar; elija otra
   *[length] Una contraseña tiene al menos 8 caracteres y como mucho 1000 bytes; elija otra
}
    .title = La contraseña no sirve
problem-unauthenticated = Falta un token válido: envíe Authorization: Bearer TOKEN, o inicie sesión de nuevo
    .title = Falta iniciar sesión
problem-wrong_password = El usuario o la contraseña no son correctos; revíselos y vuelva a intentar
    .title = No se pudo iniciar sesión
problem-user_disabled = Su usuario está deshabilitado; pida a un administrador que lo habilite
    .title = El usuario está deshabilitado
problem-oidc_refused = { $cause }
    .title = El proveedor no le dio acceso
problem-no_role = Su cuenta en el proveedor no tiene ningún rol aquí; pida uno a un administrador
    .title = Sin rol
problem-identity_not_linked = El usuario { $user } ya existe aquí y no está vinculado a su cuenta en el proveedor; pida a un administrador que lo vincule al sujeto { $subject }
    .title = El usuario no está vinculado
problem-passwords_off = Las contraseñas están desactivadas; entre con el proveedor
    .title = Contraseñas desactivadas
oidc-cause-unavailable = no responde como se espera
oidc-cause-state = Este acceso caducó o empezó en otra pestaña; entre de nuevo
oidc-cause-provider = El proveedor rechazó el acceso ({ $code }); entre de nuevo
oidc-cause-token = La respuesta del proveedor no es válida; entre de nuevo, o pida a un administrador que lea el registro
oidc-cause-claim = El proveedor no envía un { $claim } válido de usted; consulte a un administrador
login-malformed = no es lo que envía turno login
problem-forbidden = Para esto hace falta el permiso de { $permission }; pídalo a un administrador
    .title = Falta un permiso
problem-other_resource = Este token no vale para { $resource }; use uno cuyos recursos o colas lo incluyan
    .title = El token no vale para este recurso
problem-cross_site = Con la sesión de la consola solo nuestras propias páginas pueden cambiar algo; use un token
    .title = La petición viene de otro sitio
problem-development_only = Esto no se permite en producción
    .title = Solo para desarrollo
problem-more_than_held = Usted no tiene el permiso de { $permission }, así que no puede darlo ni quitarlo; pídalo a quien lo tenga
    .title = No se puede dar más de lo que se tiene
problem-not_found = No se encontró { $thing }
    .title = No encontrado
problem-method_not_allowed = { $path } no admite { $method }
    .title = El método no se permite aquí
problem-body_timeout = El cuerpo de la petición no llegó a tiempo; envíelo de nuevo
    .title = El cuerpo tardó demasiado
problem-lease_held = Bloqueada por { $holder } desde hace { $since }; pida turno, solicite que la libere, o espere
    .title = Bloqueada por otra persona
problem-lease_offered = Libre, pero reservada para { $holder }; pida turno
    .title = Reservada para quien sigue en la fila
problem-lease_lost =
    Este bloqueo ya no es suyo: { $how ->
        [no_heartbeat] venció porque su página o programa dejó de renovarlo
        [idle] venció porque no hubo actividad
        [rolling_timeout] venció porque pasó demasiado tiempo sin trabajo
        [override] { $by } lo tomó o lo liberó. Motivo: { $note }
        [user_disabled] su usuario fue deshabilitado
        [released] ya se había liberado
        [taken] lo tiene otra persona
       *[other] no se encontró un bloqueo con ese fence
    }{ $taken ->
        [yes] ; ahora lo tiene { $holder }
       *[no] { "" }
    }. { $kept ->
        [some] Lo que ya se aplicó queda aplicado; vuelva a tomarlo para terminar el resto
        [beat] Lo que ya estaba guardado sigue así. Vuelva a tomarlo si está libre
       *[nothing] Este pedido no cambió nada; lo que ya estaba guardado sigue así. Vuelva a tomarlo si está libre
    }
    .title = Lock perdido
problem-lease_pinned = Una operación está terminando con este bloqueo; pruebe de nuevo en un momento
    .title = Se está terminando un trabajo
problem-line_full = La fila de espera está llena; pruebe más tarde
    .title = La fila está llena
problem-already_holder = El titular no puede entrar en la fila
    .title = Ya es suya
problem-wrong_status = La tarea { $task } está { task-status }, y así no se puede hacer esto; { $status ->
        [draft] márquela lista primero
        [completed] ya no cambia, y si falta algo se crea otra
        [cancelled] ya no cambia, y si hace falta se crea otra
       *[other] para corregir sus líneas, procésela
    }
    .title = El estado no lo permite
problem-line_applied = La línea { $line } ya se aplicó y no cambia más
    .title = La línea ya se aplicó
problem-lines_applied = Las líneas { $lines } de la tarea { $task } ya se aplicaron, y anular la tarea no las deshace; anúlela con keep_applied para conservarlas
    .title = Hay líneas aplicadas
problem-line_changed = La línea { $line } cambió mientras tanto en otra ventana o programa; vuelva a leerla y guarde
    .title = La línea cambió
problem-draft_changed = Otra persona cambió el borrador de la tarea { $task } mientras tanto; vuelva a leerlo y guarde
    .title = El borrador cambió
problem-already_claimed = { $mine ->
        [yes] Esta misma instancia ya lo tiene, de una toma anterior; termine esa entrega, o pida con el mismo request_id para recibirla otra vez
       *[no] Otro proceso lo está procesando; siga con el siguiente
    }
    .title = Ya está tomado
problem-already_processed = { $state ->
        [exhausted] Este elemento está agotado: no le quedan intentos. Póngalo otra vez en circulación con retry, o siga con el siguiente
        [cancelled] Este elemento se canceló; siga con el siguiente, o encólelo de nuevo con otro id
       *[processed] Este elemento ya se terminó; siga con el siguiente
    }
    .title = Ya se terminó
problem-not_available = Todavía no se entrega: { $cause }
    .title = Todavía no se puede entregar
problem-wrong_state = { $state ->
        [changing] Un cambio más nuevo del elemento { $id } espera mientras todavía se procesa uno anterior; inténtelo de nuevo cuando ese termine
       *[other] El elemento { $id } está { item-state }, y así no se puede
    }
    .title = El estado del elemento no lo permite
problem-managed_by_config = { $thing } está en el archivo de configuración; cámbielo allí y reinicie
    .title = Lo fija la configuración
problem-delivered_by_turno = Turno entrega los cambios de la cola { $queue }, así que no se toman ni se confirman a mano; para enviar uno de nuevo use resync, para consumirlos usted quite deliver de la fuente
    .title = Lo entrega Turno
problem-kind_fixed = Una cola con elementos sin terminar o agotados conserva su tipo; vacíela primero, o use otro nombre
    .title = El tipo no cambia mientras haya trabajo
problem-queue_changed = Otra persona cambió la cola { $queue } mientras tanto; vuelva a leerla y cámbiela
    .title = Cambió mientras tanto
problem-already_exists = { $thing } ya existe; cámbielo, o elija otro nombre
    .title = Ya existe
problem-identity_linked = Esta identidad ya está vinculada a { $user }; quite antes ese vínculo
    .title = La identidad ya está vinculada
problem-last_admin = { $user } es el último administrador; nombre antes a otro
    .title = Es el último administrador
problem-already_created = Con esta Idempotency-Key ya se creó { $thing }; su secreto se mostró entonces y no se guarda
    .title = Ya se creó
problem-link_used = El enlace ya se usó o caducó; pida otro
    .title = El enlace ya no es válido
problem-too_large = El cuerpo pasa de { $max }; divídalo
    .title = Demasiado grande
problem-uri_too_long = Use la forma con cuerpo
    .title = La dirección es demasiado larga
problem-line_invalid = La línea { $line } no se puede aplicar: { line-error }
    .title = La línea no es válida
problem-payload_too_deep = { $field } tiene más de { $limit } niveles de anidamiento; aplánelo o envíelo como texto
    .title = El contenido está anidado demasiado profundo
problem-idempotency_key_reused = Esa clave llegó antes con otro contenido; use una nueva
    .title = La Idempotency-Key ya se usó para otra cosa
problem-too_many_requests = Espere un momento antes de volver a intentar; nada se guardó
    .title = Demasiadas peticiones
problem-internal = El error es nuestro y quedó registrado; vuelva a intentar, y si se repite avise con el request_id
    .title = Error interno
problem-audit_broken = La auditoría está dañada: { $cause }. Guarde una copia de la base y avise a quien la administra
    .title = La auditoría está dañada
problem-overloaded = El servidor no tiene lugar para más trabajo; nada se guardó, pruebe de nuevo en un momento
    .title = El servidor está sobrecargado
problem-stopping = Nada se guardó; pruebe con otra instancia, o en un momento
    .title = El servidor se está deteniendo
problem-database_unavailable = { $reason ->
        [gone] El archivo de la base de datos se borró o se movió; detenga el servidor y ponga el archivo o una copia de seguridad en su lugar
        [replaced] El archivo de la base de datos se reemplazó por otro; reinicie el servidor para usar ese, o devuelva el primero
        [cut_short] El archivo de la base de datos se cortó; detenga el servidor y ponga una copia de seguridad en su lugar
        [log_gone] El registro junto al archivo de la base de datos (-wal) se borró o se reemplazó; detenga el servidor y ponga una copia de seguridad en su lugar
        [unwritable] No se puede escribir en el archivo de la base de datos; vea si el disco está lleno o es de solo lectura
        [schema] La base de datos tiene un esquema que esta versión no puede usar; instale un Turno más nuevo
       *[other] Nada se guardó; pruebe de nuevo en un momento
    }
    .title = La base de datos no responde
problem-oidc_unavailable = El proveedor OpenID no se puede usar ahora: { $cause }; inténtelo de nuevo, o entre con una contraseña
    .title = El proveedor no está disponible
problem-outcome_unknown = Se perdió la conexión con la base de datos mientras guardaba; repita la petición, es seguro con la misma Idempotency-Key
    .title = No se sabe si se guardó

# Permissions, in words and by the name that programs know.

permission-inventory_manage = procesar tareas (inventory.manage)
permission-leases_use = tomar bloqueos (leases.use)
permission-queues_produce = poner en las colas (queues.produce)
permission-queues_consume = tomar de las colas (queues.consume)
permission-locks_override = quitar bloqueos ajenos (locks.override)
permission-queues_manage = administrar colas (queues.manage)
permission-audit_read = leer la auditoría (audit.read)
permission-users_manage = administrar personas (users.manage)
permission-sync_manage = administrar la sincronización (sync.manage)
permission-sessions_mint = abrir sesiones de otros (sessions.mint)
permission-queues_read = ver colas (queues.read)
permission-tasks_read = ver tareas (tasks.read)
permission-metrics_read = ver métricas (metrics.read)

# Items: in which state one is.

item-state = { $state ->
    [pending] en espera
    [in_process] en proceso
    [processed] procesado
    [error] con error
    [exhausted] agotado
    [cancelled] cancelado
   *[other] en estado { $state }
    }

# Tasks: in which status one is, and why a line cannot be applied; also used in the problems above.

task-status = { $status ->
    [draft] en borrador
    [ready] lista
    [processing] en proceso
    [partially_completed] finalizada en parte
    [completed] finalizada
    [cancelled] anulada
   *[other] en estado { $status }
    }
line-error = { $error ->
    [incomplete] faltan sus números de serie; cárguelos primero
    [duplicate_serial] el número de serie { $serial } ya está en stock
    [unknown_serial] el número de serie { $serial } no está en stock
    [not_enough] se piden { $wanted } y hay { $available }
    [too_much] el stock pasaría del máximo
   *[refused] { $message }
    }

# Why something in a queue is not running; the codes are those of the library.

why-running = { $instance } lo está procesando desde hace { $ago }; si no avisa, queda libre en { $left }
why-completing = { $instance } lo está completando en una transacción de su aplicación, que sigue abierta (se entregó hace { $ago }); ningún otro proceso lo recibe hasta que termine la transacción
why-paused = La cola está en pausa. Reanúdela para continuar
why-window_open = La ventana de agrupación de { $key } está abierta; sus mensajes se entregan juntos en { $left }
why-delayed = Aplazado; se entrega en { $left }
why-retry_later = { $attempt ->
        [0] No se pudo ni intentar: { $error }. No se gastó ningún intento, y se prueba de nuevo en { $left }
       *[other] El último intento ({ $attempt }) falló: { $error }. Se prueba de nuevo en { $left }
    }
why-behind_in_flight = { $instance } está procesando antes { $behind }, de la misma clave, desde hace { $ago }; le toca cuando termine, o en { $left } si no avisa
why-behind_head = Espera detrás de { $behind }, de la misma clave, que llegó antes
why-lane_held = { $behind } se agotó y retiene a los que siguen; reinténtelo o cancélelo
why-damaged = Las filas de su carril se contradicen y por eso nada se entrega. Un operador lo repara con `turno check --repair`
why-exhausted = Ya no se intenta, tras { $attempt ->
        [one] 1 intento
       *[other] { $attempt } intentos
    }: { $error }. Reinténtelo cuando la causa esté resuelta
why-processed = Se terminó hace { $ago }
why-cancelled = Se canceló hace { $ago }
why-ready = Listo. Ningún proceso consume esta cola
why-destination_down = Su destino no responde (desde hace { $ago }); se lo prueba otra vez en { $left }, y no se gastan intentos mientras tanto. Lo último que dijo: { $error }
why-empty = { $key } no tiene elementos sin terminar
why-only_exhausted = { $key } solo tiene elementos agotados; reinténtelos o cancélelos
why-a-process = Un proceso
why-no_error = sin más detalle

# Spans of time, as a person says them.

span-moment = menos de un segundo
span-seconds = { $count ->
        [one] 1 segundo
       *[other] { $count } segundos
    }
span-minutes = { $count ->
        [one] 1 minuto
       *[other] { $count } minutos
    }
span-hours = { $count ->
        [one] 1 hora
       *[other] { $count } horas
    }
span-days = { $count ->
        [one] 1 día
       *[other] { $count } días
    }

# /locks/clear

